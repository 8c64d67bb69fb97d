"""The level ground of a simulated scene: metres on the ground to pixels in the image, and back."""

from dataclasses import dataclass, field

import numpy as np

REFERENCE_STATURE = 1.70  # metres: the stature that the height line stands for
_HEAD_AND_FEET_DEPTH = (
    0.22  # metres of a standing body seen from above: what is left of it straight from the zenith
)
_ROWS_PER_PIXEL = 2


def seen_length(depression):
    """Metres that a standing person of the reference stature measures from sole to crown across the line of
    sight of a camera that looks down by `depression` radians."""
    return REFERENCE_STATURE * np.cos(depression) + _HEAD_AND_FEET_DEPTH * np.sin(depression)


@dataclass(frozen=True, eq=False)
class Ground:
    """A level floor under a fixed camera whose perspective is a line of person height over foot row.

    A person of ``REFERENCE_STATURE`` with the feet at image row y is ``slope * y + intercept`` pixels tall.
    The camera looks down on row y by the angle whose tangent grows in step with that height, as it does for a
    pinhole camera over a level floor, and reaches ``depression_deg`` at the image's last row. Ground
    coordinates are x (metres to the right of the image's middle) and z (metres away from the camera, 0 at the
    last row). Everything farther than the row ``far_row`` lies behind the scene's back wall.
    """

    size_wh: tuple[int, int]
    slope: float
    intercept: float
    depression_deg: float
    far_row: float
    _rows: np.ndarray = field(init=False, repr=False)
    _depths: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        height = self.size_wh[1]
        if self.height_at(self.far_row) <= 0:
            raise ValueError(
                f"expected a height line that is positive at the far row {self.far_row}, "
                f"got {self.slope} * y + {self.intercept}; raise far_row or the intercept"
            )
        behind_the_wall = 0.3 * self.height_at(self.far_row) * np.sin(self.depression_at(self.far_row)) + 1
        top = max(self.far_row - behind_the_wall, self._lowest_row())
        below = 3.2 * self.height_at(height)
        rows = np.linspace(top, height + below, int((height + below - top) * _ROWS_PER_PIXEL) + 2)
        rate = 1.0 / (self.pixels_per_metre(rows) * np.sin(self.depression_at(rows)))
        steps = np.diff(rows) * (rate[1:] + rate[:-1]) / 2
        depths = np.concatenate([[0.0], -np.cumsum(steps)])
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "_depths", depths - np.interp(height, rows, depths))

    def _lowest_row(self) -> float:
        """The row nearest to the horizon that the tables reach: people are half as tall as at the far row."""
        smallest = 0.5 * self.height_at(self.far_row)
        return -np.inf if self.slope <= 0 else (smallest - self.intercept) / self.slope

    def height_at(self, row):
        """Pixels from sole to crown of a standing person of the reference stature with the feet at row."""
        return self.slope * np.asarray(row, float) + self.intercept

    def depression_at(self, row):
        """Angle in radians by which the camera looks down on the ground at row."""
        near = np.tan(np.radians(self.depression_deg))
        return np.arctan(near * self.height_at(row) / self.height_at(self.size_wh[1]))

    def pixels_per_metre(self, row):
        """Pixels per metre across the line of sight at row."""
        return self.height_at(row) / seen_length(self.depression_at(row))

    def row_of(self, depth):
        """Image row of the ground at depth metres; depths beyond the tables give their end."""
        return np.interp(-np.asarray(depth, float), -self._depths, self._rows)

    def depth_of(self, row):
        """Depth in metres of the ground at row; rows beyond the tables give their end."""
        return np.interp(row, self._rows, self._depths)

    def to_pixels(self, x, depth, up=0.0):
        """Image column and row of the point x metres right, depth metres away, up metres above the ground."""
        row = self.row_of(depth)
        scale = self.pixels_per_metre(row)
        column = self.size_wh[0] / 2 + np.asarray(x, float) * scale
        return column, row - np.asarray(up, float) * scale * np.cos(self.depression_at(row))

    def half_width(self, depth):
        """Metres from the image's middle to its border at depth."""
        return self.size_wh[0] / 2 / self.pixels_per_metre(self.row_of(depth))

    @property
    def far_depth(self) -> float:
        """Depth of the back wall in metres."""
        return float(self.depth_of(self.far_row))

    @property
    def near_depth(self) -> float:
        """Depth (negative) at which even the heads are below the image."""
        rows = self._rows
        hidden = rows - 1.1 * self.height_at(rows) > self.size_wh[1]
        row = rows[np.argmax(hidden)] if hidden.any() else rows[-1]
        return float(self.depth_of(row))
