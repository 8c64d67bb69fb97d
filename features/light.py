"""The light of a frame against the empty scene's, over all and in each part of the image, and its noise."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from .images import contrast_of, medians
from .tones import DARK, SATURATED, ToneCurve, ToneMeter

#: Local light is seen in a grid of this many blocks, in each through SAMPLES x SAMPLES pixels.
ROWS, COLUMNS, SAMPLES = 12, 16, 4
#: A larger local change than this is no drift of the light but a person.
LARGEST_DRIFT = 0.25
_WHITE = (SATURATED,) * 3, (255,) * 3
#: The darkest that light can be.
_LEAST_GAIN = 0.05
#: Noise is unusual beyond so many times what it was in the frames from which the scene was learnt: a crowd
#: that fills nearly half of the scene, here and there as bright as the ground, seems to have as much.
_UNUSUAL = 1.5
#: Of fewer pixels, those that noise has made brighter than dark, the light seems to jump.
_LEAST_SHARE = 0.02
#: A pixel has colour whose channels differ by more than so many grey levels, fewer in less light but at least
#: so many. A picture has none where fewer pixels do than the first share, some where more than the second.
_COLOUR, _LEAST_COLOUR, _WITHOUT_COLOUR, _WITH_COLOUR = 8.0, 2.0, 0.01, 0.05
#: Of one colour is a picture whose brightness differs by fewer grey levels than this.
_LEAST_CONTRAST = 3
#: One pixel of so many tells whether a frame has colours.
_STRIDE = 17


@dataclass(frozen=True, eq=False)
class Light:
    """How much brighter a frame is than the empty scene.

    Attributes
    ----------
    gains : (3,) float32
        Factor by which each channel is; 1 where a tone curve tells.
    local : (ROWS, COLUMNS) float32
        Factor by which each part of the image is, besides.
    size_wh : (int, int)
        Width and height of the image, pixels.
    excess_noise : float
        By how much brightness scatters more than is usual in the scene, grey levels of the empty scene: the
        root of the difference of the squares of two median absolute deviations. 0 where it is usual.
    tones : ToneCurve or None
        What haze, glare or another contrast make of the levels; None where gains explain as much.
    is_recoloured : bool
        Whether the frame is grey where the empty scene has colours, or the other way round: a camera has
        switched to infrared for the night, or back.
    """

    gains: np.ndarray
    local: np.ndarray
    size_wh: tuple[int, int]
    excess_noise: float = 0.0
    tones: ToneCurve | None = None
    is_recoloured: bool = False

    @property
    def brightness(self) -> np.ndarray:
        """(3,) float32: factor by which each channel of a middle grey is brighter, above 0."""
        return self.gains if self.tones is None else np.maximum(self.tones.of(128), 1) / 128

    @cached_property
    def factors(self) -> np.ndarray:
        """(H, W, 3) float32: both factors together, of each pixel."""
        factors = self.local[..., None] * np.maximum(self.gains, _LEAST_GAIN)
        return cv2.resize(factors, self.size_wh, interpolation=cv2.INTER_LINEAR)

    @cached_property
    def _inverse_factors(self) -> np.ndarray:
        return 1.0 / self.factors

    def cast_on(self, image_bgr: np.ndarray, bound: np.ufunc | None = None) -> np.ndarray:
        """What (H, W, 3) of the empty scene looks like in this light: uint8, rounded and saturated.

        `bound` is for what may be seen at the least, or most, where a tone curve leaves that open:
        numpy.minimum, or maximum.
        """
        if self.tones is None:
            return cv2.multiply(image_bgr, self.factors, dtype=cv2.CV_8U)
        return self.tones.applied(cv2.multiply(image_bgr, self.factors, dtype=cv2.CV_16S), bound)

    def evened_out(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A frame (H, W, 3) uint8 in this light as it were in the empty scene's, rounded and saturated.

        What is white in hardly more light than that stays white, as it may be any brighter.
        """
        before = frame_bgr if self.tones is None else self.tones.undone(frame_bgr)
        evened = cv2.multiply(before, self._inverse_factors, dtype=cv2.CV_8U)
        white = np.flatnonzero(cv2.inRange(frame_bgr, *_WHITE))
        if len(white):
            white = white[self.factors.reshape(-1, 3)[white].max(axis=1) < 1 + LARGEST_DRIFT]
            evened.reshape(-1, 3)[white] = frame_bgr.reshape(-1, 3)[white]
        return evened


class LightMeter:
    """Measures the light of frames against that of one empty scene, despite the people in them.

    A drift of daylight or a reflection on the floor brightens a part of the scene smoothly; people change
    pixels by more than `LARGEST_DRIFT` or only in a part of a block, which the median passes over.

    Parameters
    ----------
    reference_bgr : (H, W, 3) uint8
        The empty scene.
    frames : iterable of (H, W, 3) uint8
        Whose median noise is usual there, and share of coloured pixels. Without any, no noise is unusual.
    """

    def __init__(self, reference_bgr: np.ndarray, frames: Iterable[np.ndarray] = ()):
        self.reference_bgr = reference_bgr
        height, width = reference_bgr.shape[:2]
        rows, columns = (
            np.arange(n * SAMPLES).reshape(n, SAMPLES) * length // (n * SAMPLES)
            for n, length in ((ROWS, height), (COLUMNS, width))
        )
        pixels = rows[:, None, :, None] * width + columns[:, None]  # (ROWS, COLUMNS, SAMPLES, SAMPLES)
        self._places = 3 * pixels.ravel() + np.arange(3)[:, None]
        sampled = reference_bgr.ravel().take(self._places)
        self._is_usable = _is_usable(sampled)
        self._tones = ToneMeter(sampled, self._is_usable)
        self._inverse = 1 / np.maximum(sampled, np.float32(1))
        self._inverse_total = 1 / (sampled.sum(axis=0, dtype=np.float32) + DARK)
        self._level = 1 / (3 * self._inverse_total)
        frames = [self._sampled(frame) for frame in frames]
        noises = [self._seen(frame)[3] for frame in frames]
        self._usual_noise = float(np.median(noises)) if noises else math.inf
        self._coloured_share = float(np.median([_coloured_share(frame) for frame in frames or [sampled]]))

    def measure(self, frame_bgr: np.ndarray) -> Light:
        """The light of a frame (H, W, 3) uint8.

        Each channel's gain is the median ratio over pixels that are neither dark nor saturated, 1 where they
        are few; the local light the median ratio of a block's brightness, 1 where most of it is hidden.
        """
        sampled = self._sampled(frame_bgr)
        gains, tones, local, noise = self._seen(sampled)
        excess = math.sqrt(max(0.0, noise**2 - (_UNUSUAL * self._usual_noise) ** 2))
        is_recoloured = _is_recoloured(self._coloured_share, _coloured_share(sampled, float(gains.max())))
        return Light(gains, local, frame_bgr.shape[1::-1], excess, tones, is_recoloured)

    def _sampled(self, frame_bgr) -> np.ndarray:
        """(3, n) uint8: the pixels of a frame at which the light is looked at."""
        return frame_bgr.ravel().take(self._places)

    def _seen(self, sampled) -> tuple[np.ndarray, ToneCurve | None, np.ndarray, float]:
        """Gains, tone curve, local light, and the median deviation from these, grey levels, but of what is no
        drift."""
        gains = np.ones(3, np.float32)
        is_usable = self._is_usable & _is_usable(sampled)
        usable = np.flatnonzero(is_usable)
        if len(usable) <= _LEAST_SHARE * len(is_usable):
            return gains, None, *self._local(sampled, gains)[:2]
        ratios = sampled.take(usable, axis=1) * self._inverse.take(usable, axis=1)
        found = np.sort(ratios, axis=1)[:, len(usable) // 2]
        *by_gains, left_by_gains = self._local(sampled, found)
        tones = self._tones.measure(sampled, is_usable, found)
        if tones is not None:
            *by_tones, left = self._local(tones.undone(sampled.T[None])[0].T, gains)
            if left < left_by_gains:  # the bands of a lamp that flickers can look like a curve
                return gains, tones, *by_tones
        return found, None, *by_gains

    def _local(self, sampled, gains) -> tuple[np.ndarray, float, float]:
        """The local light of pixels (3, n) whose channels have these gains; the median deviation from it of
        what is no drift, grey levels; and the mean of all, where none counts for more than a drift."""
        brightness = (1 / np.maximum(gains, _LEAST_GAIN)) @ sampled.astype(np.float32)
        ratios = ((brightness + DARK) * self._inverse_total).reshape(ROWS * COLUMNS, SAMPLES**2)
        is_drift = np.abs(ratios - 1) < LARGEST_DRIFT
        n_usable = is_drift.sum(axis=1)
        ascending = np.sort(np.where(is_drift, ratios, np.inf), axis=1)
        median = ascending[np.arange(len(ascending)), n_usable // 2]
        local = np.where(n_usable > 0.3 * SAMPLES**2, median, np.float32(1)).reshape(ROWS, COLUMNS)
        local = cv2.GaussianBlur(local, (3, 3), 0, borderType=cv2.BORDER_REPLICATE)
        deviations, level = np.abs(ratios - local.reshape(-1, 1)), self._level.reshape(ratios.shape)
        left = float(np.mean(np.minimum(deviations, LARGEST_DRIFT) * level))
        deviations = (deviations * level)[is_drift]
        return local, float(medians(deviations[None])[0]) if len(deviations) else 0.0, left


def shows_nothing(image_bgr: np.ndarray) -> bool:
    """Whether an image (H, W, 3) uint8 is of one colour, dark or saturated in a channel: black, white, or the
    blue of a lost signal. The dark has some contrast, and an even floor does show something."""
    if contrast_of(image_bgr) >= _LEAST_CONTRAST:
        return False
    return not _is_usable(np.median(image_bgr.reshape(-1, 3), axis=0)[:, None])[0]


def showing_something(images_bgr: Iterable[np.ndarray]) -> list[np.ndarray]:
    """The images (H, W, 3) uint8 but those that show nothing; all of them where none shows anything."""
    images_bgr = list(images_bgr)
    return [image for image in images_bgr if not shows_nothing(image)] or images_bgr


def coloured_alike(frames_bgr: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Those of frames (H, W, 3) uint8, at least one, that are coloured as the first is, or grey."""
    shares = [_coloured_share(frame.reshape(-1, 3)[::_STRIDE].T) for frame in frames_bgr]
    return [
        frame
        for frame, share in zip(frames_bgr, shares, strict=True)
        if not _is_recoloured(share, shares[0])
    ]


def _is_recoloured(*shares) -> bool:
    """Whether of two pictures, with these shares of coloured pixels, one is grey and the other is not."""
    return min(shares) < _WITHOUT_COLOUR and max(shares) > _WITH_COLOUR


def _coloured_share(sampled, gain: float = 1.0) -> float:
    """The share of pixels (3, n) uint8 that have colour."""
    differences = sampled.max(axis=0) - sampled.min(axis=0)
    return np.count_nonzero(differences > max(_COLOUR * min(gain, 1.0), _LEAST_COLOUR)) / len(differences)


def _is_usable(sampled):
    """(n,) bool: which pixels (3, n) uint8 are neither dark nor saturated in any channel."""
    return (sampled.min(axis=0) > DARK) & (sampled.max(axis=0) < SATURATED)
