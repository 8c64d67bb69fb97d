"""What whole, coarse and fine regions count for, in training and in the choice of frames to label."""

import numpy as np
import pytest

from crowdcount.learning.grids import GRID_SHARES, grid_weights
from crowdcount.learning.suggestion import chosen_rows
from crowdcount.pipeline import GRIDS, Pipeline

REGIONS = ["1x1"] + ["3x2"] * 6 + ["6x5"] * 30
COLUMNS = [f"{grid}_{k}_0.area" for k, grid in enumerate(REGIONS)]


def test_each_grid_has_its_share_of_what_is_measured(street):
    pipeline = Pipeline(street.scene, 10.0)
    assert set(GRID_SHARES) == {f"{rows}x{columns}" for rows, columns in GRIDS}
    assert sum(GRID_SHARES.values()) == 1
    for schema in (pipeline.schema, pipeline.direction_schema):
        squares = grid_weights(schema.names) ** 2
        for view in schema.views():
            for grid, share in GRID_SHARES.items():
                its = [k for k in view if schema.names[k].startswith(f"{grid}_")]
                assert squares[its].sum() / len(view) == pytest.approx(share)
                assert np.ptp(squares[its]) == 0


def test_the_frame_to_label_first_is_one_that_differs_as_a_whole():
    """Of quiet rows, crowded ones and ones with a change in half of the cells."""
    kind = np.arange(60) % 3
    noise = np.random.default_rng(0).normal(size=(60, 37))
    features = 0.1 * noise + np.array([kind == 1 if k < 7 else (kind == 2) & (k < 22) for k in range(37)]).T
    (first,) = chosen_rows(features, COLUMNS, [np.arange(37)], np.arange(60.0), 1)
    assert kind[first] == 1
