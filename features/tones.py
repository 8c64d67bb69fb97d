"""What becomes of the grey levels of a scene in a picture: one tone curve for all of it, as in glare, another
contrast or gamma, or haze, which thickens with the distance."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from .images import medians

#: A curve is believed where it leaves less than this share of the deviations that a gain alone leaves. In a
#: crowd, whose clothes are of all shades, it would leave .8 of them.
_LEFT_BY_CURVE = 0.75
#: A curve is worth while that is more than so many grey levels away from a gain, for black or elsewhere.
_LEAST_BENT = 8.0
#: What is closer to a curve than so many grey levels tells of it.
_LEAST_CLOSE = 3.0
#: Pairs of pixels tell the contrast that differ by so many grey levels; so many of them are no chance.
_LEAST_CONTRAST, _LEAST_PAIRS = 15, 60
#: The least slope of a curve that can be undone.
_LEAST_SLOPE = 0.1
#: The light of haze is of a level between these: of a lit night, and little more than white. How much of a
#: pixel passes is told by those that are so far from it.
_AIRLIGHT, _LEAST_FAR = (60.0, 300.0), 30.0
#: A curve is known from one level to another, to beyond black and white: what is so in one picture may not be
#: in another.
_LOWEST, _HIGHEST = -256, 511
_LEVELS = np.arange(_LOWEST, _HIGHEST + 1, dtype=np.float32)
#: What is as dark as this, or as bright, may be black or white.
DARK, SATURATED = 12, 250
_IS_END = (_LEVELS <= DARK) | (_LEVELS >= SATURATED)


@dataclass(frozen=True, eq=False)
class ToneCurve:
    """What becomes of each grey level.

    Attributes
    ----------
    table : (3, 768) float32
        What becomes of the levels from -256 to 511 in each channel, ascending; not rounded.
    """

    table: np.ndarray

    def of(self, level: int) -> np.ndarray:
        """(3,) float32: what becomes of a level in each channel."""
        return self.table[:, level - _LOWEST]

    @cached_property
    def _before(self) -> np.ndarray:
        """(1, 256, 3) float32: which level has become each of 0 to 255."""
        before = [np.interp(np.arange(256), after, _LEVELS) for after in self.table]
        return np.float32(before).T[None]

    def applied(self, image_bgr: np.ndarray, bound: np.ufunc | None = None) -> np.ndarray:
        """An image (H, W, 3) of integers after it: uint8, rounded and saturated.

        Haze lifts black, another contrast leaves it: what no curve can tell of black and white are bounds,
        the `bound` (minimum or maximum) of what the curve has and what they were.
        """
        table = self.table
        if bound is not None:
            table = np.where(_IS_END, bound(table, _LEVELS), table)
        table = np.clip(table.round(), 0, 255).astype(np.uint8)
        # noise widens what may pass by any amount
        places = np.clip(image_bgr.astype(np.intp) - _LOWEST, 0, len(_LEVELS) - 1)
        return table.ravel().take(places + len(_LEVELS) * np.arange(3))

    def undone(self, image_bgr: np.ndarray) -> np.ndarray:
        """An image (H, W, 3) uint8 before it: float32."""
        return cv2.LUT(image_bgr, self._before)

    def black_at(self, pixels: np.ndarray, size_wh: tuple[int, int]) -> np.ndarray:
        """(3,) float32: what black looks like, anywhere."""
        return self.of(0)

    def steps(self, height: int) -> float:
        """How many levels of the scene one level of the picture stands for, where they are middle greys."""
        return float(2 / (self.of(129) - self.of(127)).min())


@dataclass(frozen=True, eq=False)
class Haze:
    """Haze between the camera and the scene J, which is seen as I = t J + (1 - t) A, with A the light of the
    haze and t the share that passes it (Koschmieder, 1924).

    Attributes
    ----------
    transmission : (n,) float64
        t, from the top of the picture to its bottom, in `n` bands of equal height.
    veil : (n,) float64
        (1 - t) A, the grey levels that it adds.
    """

    transmission: np.ndarray
    veil: np.ndarray

    def of(self, level: int) -> np.ndarray:
        """(3,) float32: what becomes of a level in each channel, on average over the picture."""
        return np.full(3, np.mean(self.transmission * level + self.veil), np.float32)

    def applied(self, image_bgr: np.ndarray, bound: np.ufunc | None = None) -> np.ndarray:
        """An image (H, W, 3) of integers behind it: uint8, rounded and saturated. What is white may be any
        brighter: the `bound` of what it is seen as and of what it was."""
        transmission, veil = self._at_rows_of(image_bgr)
        hazy = image_bgr * transmission + veil
        if bound is not None:
            hazy = np.where(image_bgr >= SATURATED, bound(hazy, image_bgr), hazy)
        return np.clip(hazy + np.float32(0.5), 0, 255).astype(np.uint8)

    def undone(self, image_bgr: np.ndarray) -> np.ndarray:
        """An image (H, W, 3) uint8 as it were without it: float32."""
        transmission, veil = self._at_rows_of(image_bgr)
        return (image_bgr - veil) / transmission

    def cleared(self, image_bgr: np.ndarray) -> np.ndarray:
        """The same, rounded and saturated: uint8."""
        return np.clip(self.undone(image_bgr) + np.float32(0.5), 0, 255).astype(np.uint8)

    def black_at(self, pixels: np.ndarray, size_wh: tuple[int, int]) -> np.ndarray:
        """(k, 1) float32: what black looks like at pixels (k,) of an image of a size, numbered row by row."""
        return _at_rows(self.veil, size_wh[1])[pixels // size_wh[0]]

    def steps(self, height: int) -> np.ndarray:
        """(height, 1) float32: how many levels of the scene one level of the picture stands for, in each row
        of an image."""
        return 1 / _at_rows(self.transmission, height)

    def _at_rows_of(self, image_bgr) -> list[np.ndarray]:
        """Transmission and veil (H, 1, 1) float32 in each row of an image."""
        return [_at_rows(bands, len(image_bgr))[..., None] for bands in (self.transmission, self.veil)]


class ToneMeter:
    """Finds the tone curves of pictures despite what people hide.

    Parameters
    ----------
    sampled : (3, n) uint8
        Pixels of the scene without people.
    is_usable : (n,) bool
        Which of them are neither dark nor saturated.
    """

    def __init__(self, sampled: np.ndarray, is_usable: np.ndarray):
        self._empty = sampled.astype(np.float32)
        self._pairs = [_contrasting_pairs(empty, np.flatnonzero(is_usable)) for empty in self._empty]
        self._has_contrast = min(len(contrasts) for *_, contrasts in self._pairs) >= _LEAST_PAIRS

    def may_tell(self, sampled: np.ndarray) -> bool:
        """Whether a picture (3, n) uint8 may be another in more than gains: black is, by the line below."""
        green = 1  # tells at little cost
        return self._has_contrast and abs(self._line(green, sampled.astype(np.float32))[0]) > _LEAST_BENT

    def measure(self, sampled: np.ndarray, is_usable: np.ndarray, gains: np.ndarray) -> ToneCurve | None:
        """The tone curve of a picture, or None where gains (3,) alone explain it about as well.

        First a line: the median slope between a dark and a bright pixel each. People darken what is bright
        and brighten what is dark, as haze does; so then a parabola through the half of the pixels that are
        closest to it, three times.

        Parameters
        ----------
        sampled : (3, n) uint8
            The same pixels of the picture.
        is_usable : (n,) bool
            Which of them are neither dark nor saturated in both.
        """
        seen, empty = sampled.astype(np.float32), self._empty
        coefficients = np.array([[*self._line(channel, seen), 0] for channel in range(3)])
        seen, empty = seen[:, is_usable], empty[:, is_usable]
        for _ in range(3):
            left = np.abs(seen - _parabolas(coefficients, empty)).max(axis=0)
            is_close = left <= max(medians(left[None])[0], _LEAST_CLOSE)
            coefficients = _fitted(empty[:, is_close], seen[:, is_close])
        fitted = _parabolas(coefficients, empty), gains[:, None] * empty
        left, left_by_gains = (medians(np.abs(seen - values).reshape(1, -1))[0] for values in fitted)
        table = _parabolas(coefficients, _LEVELS)
        is_visible = (_LEVELS >= 0) & (_LEVELS <= 255)
        bent = np.abs(table - gains[:, None] * _LEVELS)[:, is_visible].max()
        is_better = left < _LEFT_BY_CURVE * left_by_gains and bent > _LEAST_BENT
        rises = np.diff(table[:, ~_IS_END]).min() > 0
        return ToneCurve(_that_can_be_undone(table)) if is_better and rises else None

    def _line(self, channel, seen) -> tuple[float, float]:
        """Offset and slope: the medians over all pixels (3, n), and over the pairs."""
        seen = seen[channel]
        slope = medians(_slopes(seen, self._pairs[channel])[None])[0]
        return medians((seen - slope * self._empty[channel])[None])[0], slope


class HazeMeter:
    """Finds the haze that pictures have and a scene had not, or had, despite people; in each row as much.

    Parameters
    ----------
    empty : (3, n) float32
        Pixels of the scene without people, band by band from top to bottom, as many in each.
    is_usable : (n,) bool
        Which of them are neither dark nor saturated.
    n_bands : int
    """

    def __init__(self, empty: np.ndarray, is_usable: np.ndarray, n_bands: int):
        self._empty = empty
        self._bands = np.split(np.arange(empty.shape[1]), n_bands)
        self._pairs = [
            [_contrasting_pairs(levels, band[is_usable[band]]) for levels in empty]
            for band in self._bands
        ]

    def measure(self, sampled: np.ndarray, is_usable: np.ndarray) -> Haze | None:
        """The haze in a picture, or None where it is nothing of the kind.

        A line for each band, as the first one of a `ToneMeter`, tells the light of the haze, A: all of them
        pass through (A, A). Then the transmission of each band is the median of (I - A) / (J - A) over its
        pixels, and that of three bands.

        Parameters
        ----------
        sampled : (3, n) uint8
            The same pixels of the picture.
        is_usable : (n,) bool
            Which of them are neither dark nor saturated in both.
        """
        seen = sampled.astype(np.float32)
        usable = [band[is_usable[band]] for band in self._bands]
        lines = [self._line(seen, *one) for one in zip(self._pairs, usable, strict=True)]
        slopes, offsets = np.array([*filter(None, lines)]).reshape(-1, 2).T
        gone = 1 - slopes
        airlight = offsets @ gone / max(gone @ gone, 1e-6)
        if not _AIRLIGHT[0] < airlight < _AIRLIGHT[1]:
            return None
        transmission = np.array([self._transmission(seen, band, airlight) for band in usable])
        is_known = np.isfinite(transmission)
        if 2 * np.count_nonzero(is_known) < len(is_known):
            return None
        bands = np.arange(len(is_known))
        transmission = np.interp(bands, bands[is_known], transmission[is_known])
        around = np.pad(transmission, 1, mode="edge")
        transmission = np.maximum(np.median([around[:-2], transmission, around[2:]], axis=0), _LEAST_SLOPE)
        return Haze(transmission, (1 - transmission) * airlight)

    def _line(self, seen, pairs, usable) -> tuple[float, float] | None:
        """Slope and offset of one band, for all channels."""
        slopes = np.concatenate([_slopes(*one) for one in zip(seen, pairs, strict=True)])
        if len(slopes) < _LEAST_PAIRS or not len(usable):
            return None
        slope = medians(slopes[None])[0]
        return slope, medians((seen[:, usable] - slope * self._empty[:, usable]).reshape(1, -1))[0]

    def _transmission(self, seen, usable, airlight) -> float:
        """Of one band, whose usable pixels (k,) are given; NaN where it is not known."""
        before, after = (levels[:, usable] - np.float32(airlight) for levels in (self._empty, seen))
        is_far = np.abs(before) > _LEAST_FAR
        if np.count_nonzero(is_far) < _LEAST_PAIRS:
            return np.nan
        return medians((after[is_far] / before[is_far])[None])[0]


def _at_rows(bands, height) -> np.ndarray:
    """(height, 1) float32: what is known of bands (n,) of equal height, at each row of an image."""
    n = len(bands)
    return np.float32(np.interp((np.arange(height) + 0.5) * n / height, np.arange(n) + 0.5, bands))[:, None]


def _that_can_be_undone(table) -> np.ndarray:
    """The curves (3, 768), nowhere flatter than `_LEAST_SLOPE`, as a parabola may be for black or white."""
    middle = 128 - _LOWEST
    steps = np.diff(table, prepend=table[:, :1]).astype(np.float64)
    rising = np.maximum(steps, _LEAST_SLOPE).cumsum(axis=1)
    return (rising - rising[:, middle : middle + 1] + table[:, middle : middle + 1]).astype(np.float32)


def _contrasting_pairs(levels, pixels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of pixels (k,) with levels (n,), the darkest and the brightest, the next ones, and so on (m,) each, and
    by how much their levels differ."""
    ascending = pixels[np.argsort(levels[pixels], kind="stable")]
    darker, brighter = ascending, ascending[::-1]
    contrasts = levels[brighter] - levels[darker]
    is_enough = contrasts >= _LEAST_CONTRAST
    return darker[is_enough], brighter[is_enough], contrasts[is_enough]


def _slopes(levels, pairs) -> np.ndarray:
    """(m,) float32: how many times the contrasts of pairs of pixels levels (n,) of a picture have."""
    darker, brighter, contrasts = pairs
    return (levels.take(brighter) - levels.take(darker)) / contrasts


def _fitted(x, y) -> np.ndarray:
    """Coefficients (3, 3), of 1, x and x², of the parabolas of least squares through x and y (3, n)."""
    powers = np.arange(3)
    rows = [np.linalg.lstsq((a[:, None] / 255) ** powers, b)[0] for a, b in zip(x, y, strict=True)]
    return np.stack(rows) / 255.0**powers


def _parabolas(coefficients, levels) -> np.ndarray:
    """(3, n) float32: parabolas (3, 3) at levels (n,) or (3, n); beyond 0 and 255, their tangents there."""
    constant, linear, square = (coefficients[:, k : k + 1] for k in range(3))
    inner = np.clip(levels, 0, 255)
    return (constant + linear * levels + square * inner * (2 * levels - inner)).astype(np.float32)
