import math

import pytest

from crowdcount.checks import one, optional, record, several

SHARE = one("a share from 0 to 1", float, lambda value: 0 <= value <= 1)
WHOLE = one("a whole number", int)
SHAPE = record({"name": one("a name", str), "points": several(several(SHARE, 2, 2), 1, 3)})


class TestOne:
    @pytest.mark.parametrize("value", [0, 1, 0.5])
    def test_a_float_may_be_written_as_a_whole_number(self, value):
        found = SHARE(value, "x")
        assert found == value
        assert type(found) is float

    @pytest.mark.parametrize(
        "value", [True, "0.5", None, [], 2, -0.1, math.nan, math.inf, 10**400, "\x1b[31m\n", "a" * 10**6]
    )
    def test_anything_else_is_one_short_line(self, value):
        with pytest.raises(ValueError, match=r"^line\.x: expected a share from 0 to 1, found") as caught:
            SHARE(value, "line.x")
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 120

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
    def test_a_float_is_finite(self, value):
        with pytest.raises(ValueError, match="a number"):
            one("a number", float)(value, "x")

    def test_a_whole_number_is_no_float_and_no_flag(self):
        assert WHOLE(3, "x") == 3
        for value in (3.0, True, "3"):
            with pytest.raises(ValueError, match="x: expected a whole number"):
                WHOLE(value, "x")
        assert one("a flag", bool)(True, "x") is True
        with pytest.raises(ValueError, match="a flag"):
            one("a flag", bool)(1, "x")

    def test_null_where_it_may_be(self):
        assert optional(WHOLE)(None, "x") is None
        assert optional(WHOLE)(3, "x") == 3
        with pytest.raises(ValueError, match="x: expected"):
            optional(WHOLE)("3", "x")


class TestRecord:
    def test_lists_become_tuples(self):
        assert SHAPE({"points": [[0, 1]], "name": "a"}, "") == {"name": "a", "points": ((0.0, 1.0),)}

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (None, "content: expected an object, found None"),
            ({"name": "a"}, "points is missing"),
            ({"name": "a", "points": [[0, 1]], "more\n": 1}, r"'more\\n' is unknown"),
            ({"name": "a", "points": []}, r"points: expected a list of 1 to 3 values, found \[\]"),
            ({"name": "a", "points": "abc"}, "points: expected a list"),
            ({"name": "a", "points": [[0, 1], [0]]}, "points.1: expected a list of 2 values"),
            ({"name": "a", "points": [[0, 1], [0, 5]]}, "points.1.1: expected a share from 0 to 1, found 5"),
        ],
    )
    def test_what_is_wrong_is_named_with_its_place(self, content, said):
        with pytest.raises(ValueError, match=f"^{said}"):
            SHAPE(content, "")

    def test_the_place_of_a_record_in_another(self):
        with pytest.raises(ValueError, match=r"shape\.name is missing"):
            record({"shape": SHAPE})({"shape": {}}, "")

    def test_defaults_stand_for_what_is_missing(self):
        check = record({"n": WHOLE, "m": optional(WHOLE)}, {"m": None})
        assert check({"n": 1}, "") == {"n": 1, "m": None}
        assert check({"n": 1, "m": 2}, "") == {"n": 1, "m": 2}
