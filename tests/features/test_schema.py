import pytest

from features import clumps, edges, silhouette, size, texture
from features.schema import VIEWS, Quantity, Schema

AREA = Quantity("area", "size", "h²", additive=True)
EDGES = Quantity("edges", "edges", "h", additive=True)
LBP = Quantity("lbp_0", "texture", "h²", additive=True)


def test_columns_go_region_by_region():
    schema = Schema((AREA, LBP, EDGES), ("whole", "far", "near"))
    assert schema.names == [
        "whole.area", "whole.lbp_0", "whole.edges",
        "far.area", "far.lbp_0", "far.edges",
        "near.area", "near.lbp_0", "near.edges",
    ]  # fmt: skip


def test_views_cover_every_column_exactly_once():
    quantities = size.QUANTITIES + edges.QUANTITIES + texture.QUANTITIES
    schema = Schema(quantities, ("a", "b", "c"))
    views = schema.views()
    assert sorted(column for view in views for column in view) == list(range(len(schema.names)))
    assert len(set(schema.names)) == len(schema.names)
    for view, columns in zip(VIEWS, views, strict=True):
        named = {schema.names[column].split(".")[1] for column in columns}
        assert named == {quantity.name for quantity in quantities if quantity.view == view}


@pytest.mark.parametrize(
    ("family", "view"),
    [(size, "size"), (clumps, "size"), (silhouette, "size"), (edges, "edges"), (texture, "texture")],
)
def test_a_family_measures_its_own_view(family, view):
    assert {quantity.view for quantity in family.QUANTITIES} == {view}
