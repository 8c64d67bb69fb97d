"""The light of a frame against the empty scene's, over all and in each part of the image, and its noise."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import cv2
import numpy as np

from .focus import FocusMeter
from .images import channel_spread, contrast_of, medians
from .tones import DARK, SATURATED, Haze, HazeMeter, ToneCurve, ToneMeter

#: Local light is seen in a grid of this many blocks, in each through SAMPLES x SAMPLES pixels.
ROWS, COLUMNS, SAMPLES = 12, 16, 4
#: A larger local change than this is no drift of the light but a person.
LARGEST_DRIFT = 0.25
#: A larger one is of light all the same, as of a lamp that went out or a cloud's shadow, in even blocks
_EVEN_SHARE, _EVEN_WITHIN = 0.6, 0.12  # whose first share of samples is within the second of their median
_LEAST_REGION = 0.05  # that hang together over this share of the image or more,
_PRESERVED = 0.5  # and where more than so much of the scene's texture is left, see `_texture_left`
#: The least, or most, of each place's neighbours.
_AROUND = {np.minimum: cv2.erode, np.maximum: cv2.dilate}
_NO_GAIN = np.ones(3, np.float32)
#: The darkest that light can be.
_LEAST_GAIN = 0.05
#: Noise is unusual beyond so many times what it was in the frames from which the scene was learnt: a crowd
#: that fills nearly half of the scene, here and there as bright as the ground, seems to have as much.
_UNUSUAL = 1.5
#: Of fewer pixels, those that noise has made brighter than dark, the light seems to jump.
_LEAST_SHARE = 0.02
#: A pixel has colour whose channels differ by more grey levels than the first; fewer in less light and behind
#: haze, but not than the second.
_COLOUR, _LEAST_COLOUR = 8.0, 2.0
#: A picture has no colour where a smaller share of its pixels than the first has, and some beyond the second.
_WITHOUT_COLOUR, _WITH_COLOUR = 0.01, 0.05
#: Haze is believed that leaves less than this share of what gains leave: in a crowd it would leave .97.
_LEFT_BY_HAZE = 0.9
#: A frame may be out of focus whose edges are weaker than this share of the scene's; it is where a blurred
#: scene leaves less than the second share of what the sharp one leaves: in another light it leaves more.
_BLURRED, _LEFT_IN_BLUR = 0.8, 0.85
#: Of pictures whose edges differ by this factor the weaker ones are out of focus.
OTHER_FOCUS = 1.25
#: Of one colour is a picture whose brightness differs by fewer grey levels than this.
_LEAST_CONTRAST = 3
#: The longest title, of all footage; night at its beginning takes longer.
_TITLE = 1 / 8
#: One pixel of so many tells whether a frame has colours, is repeated, or how bright it is.
_STRIDE = 17
#: Frames are of one light whose mean brightness differs by less than this factor; of others where, besides,
#: so much more of the picture is saturated.
_ONE_LIGHT, _SATURATED_SHARE = 1.2, 0.1
#: A frame repeats the one before if no more than a tenth as many of these pixels differ as usually do. A feed
#: was frozen where
_NOISY_SHARE = 0.1  # usually so many do, or more: there is noise
_FROZEN_SHARE = 0.25  # more than this share of the frames is repeated
_FEWEST = 8  # so many in a row are the same, or more; as many different ones are enough to learn from

_Tones = ToneCurve | Haze


@dataclass(frozen=True, eq=False)
class Light:
    """How much brighter a frame is than the empty scene.

    Attributes
    ----------
    gains : (3,) float32
        Factor by which each channel is; 1 where a tone curve tells.
    local : (ROWS, COLUMNS) float32
        Factor by which each part of the image is, besides.
    empty_bgr : (H, W, 3) uint8
        The empty scene, as blurred as the frame.
    excess_noise : float
        By how much brightness scatters more than is usual in the scene, grey levels of the empty scene: the
        root of the difference of the squares of two median absolute deviations. 0 where it is usual.
    tones : ToneCurve, Haze or None
        What haze, glare or another contrast make of the levels; None where gains explain as much.
    is_recoloured : bool
        Whether the frame is grey where the empty scene has colours, or the other way round: a camera has
        switched to infrared for the night, or back.
    other : (ROWS, COLUMNS) float32 or None
        Which part of `local` is no drift: not 1 where a lamp went out or on, or a shadow fell. None: nowhere.
    blur : float
        By how much the frame is out of focus: standard deviation of a Gaussian, pixels. 0 where it is not.
    is_sharper : bool
        Whether the empty scene is out of focus beside the frame.
    """

    gains: np.ndarray
    local: np.ndarray
    empty_bgr: np.ndarray
    excess_noise: float = 0.0
    tones: _Tones | None = None
    is_recoloured: bool = False
    other: np.ndarray | None = None
    blur: float = 0.0
    is_sharper: bool = False

    @property
    def contrast(self) -> np.ndarray:
        """(3,) float32: factor by which the differences of middle greys are larger in each channel."""
        return self.gains if self.tones is None else (self.tones.of(192) - self.tones.of(64)) / 128

    @property
    def brightness(self) -> np.ndarray:
        """(3,) float32: factor by which each channel of a middle grey is brighter, above 0."""
        return self.gains if self.tones is None else np.maximum(self.tones.of(128), 1) / 128

    def black_at(self, pixels: np.ndarray) -> np.ndarray | float:
        """(3,) or (k, 1) float32: what black looks like at pixels (k,), numbered row by row; 0 but in haze or
        another contrast."""
        return 0.0 if self.tones is None else self.tones.black_at(pixels, self.empty_bgr.shape[1::-1])

    @cached_property
    def factors(self) -> np.ndarray:
        """(H, W, 3) float32: both factors together, of each pixel."""
        return self._factors_of(self.local)

    def _factors_of(self, local) -> np.ndarray:
        factors = local[..., None] * np.maximum(self.gains, _LEAST_GAIN)
        return cv2.resize(factors, self.empty_bgr.shape[1::-1], interpolation=cv2.INTER_LINEAR)

    @cached_property
    def _inverse_factors(self) -> np.ndarray:
        return 1.0 / self.factors

    def cast_on(self, image_bgr: np.ndarray, bound: np.ufunc | None = None) -> np.ndarray:
        """What (H, W, 3) of the empty scene looks like in this light: uint8, rounded and saturated.

        `bound` is for what may be seen at the least, or most, where a tone curve leaves that open, or a
        shadow's edge: numpy.minimum, or maximum.
        """
        factors = self.factors
        if bound is not None and self.other is not None:  # the edge is somewhere in a block, or beside it
            around = _AROUND[bound](self.other, np.ones((3, 3)))
            factors = self._factors_of(self.local * around / self.other)
        if self.tones is None:
            return cv2.multiply(image_bgr, factors, dtype=cv2.CV_8U)
        return self.tones.applied(cv2.multiply(image_bgr, factors, dtype=cv2.CV_16S), bound)

    def evened_out(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A frame (H, W, 3) uint8 in this light as it were in the empty scene's, rounded and saturated.

        What is saturated may be any brighter than it seems: it is taken for the empty scene where that is.
        """
        before = frame_bgr if self.tones is None else self.tones.undone(frame_bgr)
        evened = cv2.multiply(before, self._inverse_factors, dtype=cv2.CV_8U)
        np.maximum(evened, self.empty_bgr, out=evened, where=frame_bgr >= SATURATED)
        return evened


class _Seen(NamedTuple):
    """What is seen of a light at the pixels that a `LightMeter` looks at, in gains or a tone curve.

    `local` and `other` as of `Light`; `noise`: the median deviation from it of what nothing hides, grey
    levels; `left`: the mean of all, where none counts for more than a drift.
    """

    gains: np.ndarray
    tones: _Tones | None
    local: np.ndarray
    other: np.ndarray | None
    noise: float
    left: float


class LightMeter:
    """Measures the light of frames against that of one empty scene, despite the people in them.

    A drift of daylight or a reflection on the floor brightens a part of the scene smoothly; people change
    pixels by more than `LARGEST_DRIFT` or only in a part of a block, which the median passes over. A lamp or
    a cloud's shadow may change a large part by more, but leaves its texture, which whatever is there hides.

    Parameters
    ----------
    reference_bgr : (H, W, 3) uint8
        The empty scene.
    frames : iterable of (H, W, 3) uint8
        Whose median noise is usual there, and share of coloured pixels. Without any, no noise is unusual.
    leave_out : (H, W) bool, optional
        Where the light is not looked at, as the scene has several states there.
    """

    def __init__(
        self,
        reference_bgr: np.ndarray,
        frames: Iterable[np.ndarray] = (),
        leave_out: np.ndarray | None = None,
    ):
        self.reference_bgr = reference_bgr
        self._leave_out, self._blurred = leave_out, {}
        height, width = reference_bgr.shape[:2]
        rows, columns = (
            np.arange(n * SAMPLES).reshape(n, SAMPLES) * length // (n * SAMPLES)
            for n, length in ((ROWS, height), (COLUMNS, width))
        )
        pixels = rows[:, None, :, None] * width + columns[:, None]  # (ROWS, COLUMNS, SAMPLES, SAMPLES)
        self._places = 3 * pixels.ravel() + np.arange(3)[:, None]
        sampled = reference_bgr.ravel().take(self._places)
        self._left_out = None if leave_out is None else leave_out.ravel()[pixels].reshape(-1, SAMPLES**2)
        self._is_usable = _is_usable(sampled)
        if leave_out is not None:
            self._is_usable &= ~self._left_out.ravel()
        self._empty = sampled.astype(np.float32)
        self._tones = ToneMeter(sampled, self._is_usable)
        self._inverse = 1 / np.maximum(sampled, np.float32(1))
        totals = self._empty.sum(axis=0).reshape(ROWS * COLUMNS, SAMPLES**2)
        self._level = (totals + DARK) / 3
        # ratios are those of sums with DARK
        self._dark_shares = DARK / np.maximum(medians(totals).reshape(ROWS, COLUMNS), 1)
        frames = [self._sampled(frame) for frame in frames]
        noises = [self._seen(frame).noise for frame in frames]
        self._usual_noise = float(np.median(noises)) if noises else math.inf
        self._coloured_share = float(np.median([_coloured_share(frame) for frame in frames or [sampled]]))

    @property
    def is_grey(self) -> bool:
        """Whether the frames, or the empty scene where there are none, have hardly any colour."""
        return self._coloured_share < _WITHOUT_COLOUR

    def measure(self, frame_bgr: np.ndarray) -> Light:
        """The light of a frame (H, W, 3) uint8.

        Each channel's gain is the median ratio over pixels that are neither dark nor saturated, 1 where they
        are few; the local light the median ratio of a block's brightness, 1 where most of it is hidden. What
        is out of focus is compared with a scene that is as blurred.
        """
        light, left = self._measured(frame_bgr)
        if _BLURRED < self.focus.sharpness(frame_bgr) / max(light.contrast[1], _LEAST_GAIN) < OTHER_FOCUS:
            return light
        sharpness = self.focus.sharpness(light.evened_out(frame_bgr))
        if sharpness > _BLURRED:
            return replace(light, is_sharper=sharpness > OTHER_FOCUS)
        blur = self.focus.blur_of(sharpness)
        in_blur, left_in_blur = self._out_of_focus(blur)._measured(frame_bgr)
        return replace(in_blur, blur=blur) if left_in_blur < _LEFT_IN_BLUR * left else light

    def _measured(self, frame_bgr) -> tuple[Light, float]:
        """The light of a frame that is in focus, and what it leaves, see `_Seen`."""
        sampled = self._sampled(frame_bgr)
        seen = self._seen(sampled)
        light = Light(seen.gains, seen.local, self.reference_bgr, tones=seen.tones, other=seen.other)
        excess_noise = math.sqrt(max(0.0, seen.noise**2 - (_UNUSUAL * self._usual_noise) ** 2))
        coloured_share = _coloured_share(sampled, float(light.contrast.max()))
        is_recoloured = _is_recoloured(self._coloured_share, coloured_share)
        return replace(light, excess_noise=excess_noise, is_recoloured=is_recoloured), seen.left

    def _out_of_focus(self, blur) -> "LightMeter":
        """One against the scene as it is out of focus, where noise and colours are as usual as in this."""
        if blur not in self._blurred:
            meter = LightMeter(cv2.GaussianBlur(self.reference_bgr, (0, 0), blur), (), self._leave_out)
            meter._usual_noise, meter._coloured_share = self._usual_noise, self._coloured_share
            self._blurred[blur] = meter
        return self._blurred[blur]

    @cached_property
    def focus(self) -> FocusMeter:
        """Of the empty scene."""
        return FocusMeter(self.reference_bgr)

    @cached_property
    def _haze(self) -> HazeMeter:
        return HazeMeter(self._empty, self._is_usable, ROWS)

    def _sampled(self, frame_bgr) -> np.ndarray:
        """(3, n) uint8: the pixels of a frame at which the light is looked at."""
        return frame_bgr.ravel().take(self._places)

    def _seen(self, sampled) -> _Seen:
        """The light of pixels (3, n): gains, or what explains them better."""
        is_usable = self._is_usable & _is_usable(sampled)
        usable = np.flatnonzero(is_usable)
        told = self._told(sampled)
        if len(usable) <= _LEAST_SHARE * len(is_usable):
            return self._seen_in(sampled, told)
        ratios = sampled.take(usable, axis=1) * self._inverse.take(usable, axis=1)
        gains = np.sort(ratios, axis=1)[:, len(usable) // 2]
        best = by_gains = self._seen_in(sampled, told, gains)
        if self._tones.may_tell(sampled):
            curve = self._tones.measure(sampled, is_usable, gains)
            haze = self._haze.measure(sampled, is_usable)
            for tones, share in ((curve, 1.0), (haze, _LEFT_BY_HAZE)):
                if tones is None:
                    continue
                found = self._seen_in(sampled, told, tones=tones)
                # a flickering lamp's bands can look like either
                if found.left < min(best.left, share * by_gains.left):
                    best = found
        return best

    def _told(self, sampled) -> np.ndarray:
        """(3, n) float32: what each channel of pixels (3, n) counts for in their brightness: nothing where it
        is saturated, and might be any brighter, unless all are."""
        is_told = np.maximum(self._empty, sampled) < SATURATED
        is_told |= ~is_told.any(axis=0)
        return is_told * (3 / is_told.sum(axis=0, dtype=np.float32))

    def _seen_in(self, sampled, told, gains=_NO_GAIN, tones=None) -> _Seen:
        """The light of pixels (3, n) whose channels count so much (3, n), in these gains (3,) or this tone
        curve."""
        if tones is not None:
            sampled = _undone(tones, sampled)
        brightness = (1 / np.maximum(gains, _LEAST_GAIN)) @ (sampled * told)
        ratios = (brightness + DARK) / (np.ones(3, np.float32) @ (self._empty * told) + DARK)
        ratios = ratios.reshape(ROWS * COLUMNS, SAMPLES**2)
        if self._left_out is not None:
            ratios[self._left_out] = 1
        is_drift = np.abs(ratios - 1) < LARGEST_DRIFT
        other = self._other_light(ratios, is_drift.sum(axis=1) < 0.5 * SAMPLES**2)
        if other is not None:
            ratios = ratios / other.reshape(-1, 1)
            is_drift = np.abs(ratios - 1) < LARGEST_DRIFT
        n_usable = is_drift.sum(axis=1)
        ascending = np.sort(np.where(is_drift, ratios, np.inf), axis=1)
        median = ascending[np.arange(len(ascending)), n_usable // 2]
        local = np.where(n_usable > 0.3 * SAMPLES**2, median, np.float32(1)).reshape(ROWS, COLUMNS)
        local = cv2.GaussianBlur(local, (3, 3), 0, borderType=cv2.BORDER_REPLICATE)
        deviations, level = np.abs(ratios - local.reshape(-1, 1)), self._level
        left = float(np.mean(np.minimum(deviations, LARGEST_DRIFT) * level))
        deviations = (deviations * level)[is_drift]
        noise = float(medians(deviations[None])[0]) if len(deviations) else 0.0
        if other is not None:
            other = np.maximum(other + (other - 1) * self._dark_shares, np.float32(_LEAST_GAIN))
            local = local * other
        return _Seen(gains, tones, local, other, noise, left)

    def _other_light(self, ratios, is_far) -> np.ndarray | None:
        """By which factor (ROWS, COLUMNS) blocks of these ratios (ROWS * COLUMNS, n) are brighter where a
        lamp went out or a shadow fell; None where nowhere. `is_far`: which are beyond a drift
        (ROWS * COLUMNS,); half as far, they belong to such light beside."""
        if not is_far.any():
            return None
        least = _LEAST_REGION * len(ratios)
        middles = np.maximum(medians(ratios), np.float32(_LEAST_GAIN))
        changed = np.flatnonzero(np.abs(middles - 1) > LARGEST_DRIFT / 2)
        middles = middles[changed]
        deviations = ratios[changed] / middles[:, None] - 1
        is_even = np.count_nonzero(np.abs(deviations) < _EVEN_WITHIN, axis=1) >= _EVEN_SHARE * SAMPLES**2
        even, other = np.zeros(len(ratios), np.uint8), np.ones(len(ratios), np.float32)
        even[changed[is_even]] = 1
        _, labels, stats, _ = cv2.connectedComponentsWithStats(even.reshape(ROWS, COLUMNS), connectivity=4)
        labels = labels.ravel()[changed]
        for label in np.flatnonzero(stats[1:, cv2.CC_STAT_AREA] >= least) + 1:
            is_in = labels == label
            region = changed[is_in]
            if is_far[region].any() and _texture_left(self._level[region], deviations[is_in]) > _PRESERVED:
                other[region] = middles[is_in]
        if (other == 1).all():
            return None
        around = cv2.medianBlur(other.reshape(ROWS, COLUMNS), 5).ravel()[changed]
        is_hidden = (around != 1) & (np.abs(other[changed] / around - 1) > LARGEST_DRIFT)
        # people who fill blocks stand in their neighbours' light
        other[changed[is_hidden]] = around[is_hidden]
        return other.reshape(ROWS, COLUMNS)


def _undone(curve, sampled) -> np.ndarray:
    """(3, n) float32: pixels (3, n) uint8, at which a `LightMeter` looks, before a curve or without haze."""
    blocks = sampled.reshape(3, ROWS, COLUMNS, SAMPLES, SAMPLES)
    image = blocks.transpose(1, 3, 2, 4, 0).reshape(ROWS * SAMPLES, COLUMNS * SAMPLES, 3)
    undone = curve.undone(image).reshape(ROWS, SAMPLES, COLUMNS, SAMPLES, 3)
    return undone.transpose(4, 0, 2, 1, 3).reshape(3, -1)


def _texture_left(levels, deviations) -> float:
    """How much of the texture of a scene, (k, n) grey levels in k blocks, is in a frame that deviates by such
    shares from their light: the covariance over the larger variance, 1 in another light, 0 behind something.
    """
    is_near = np.abs(deviations) < LARGEST_DRIFT
    n_near = np.maximum(is_near.sum(axis=1, keepdims=True), 1)
    scene = levels / medians(levels)[:, None]
    scene, frame = (
        (texture - (texture * is_near).sum(axis=1, keepdims=True) / n_near) * is_near
        for texture in (scene, scene + deviations)
    )
    largest = max((scene**2).sum(), (frame**2).sum())
    return float((scene * frame).sum() / largest) if largest else 0.0


def unevenness(local: np.ndarray) -> float:
    """How much the light of the parts of a picture, (ROWS, COLUMNS) factors, differs from none: the root mean
    square of its logarithm, without single blocks, which people change."""
    return float(np.sqrt(np.mean(cv2.medianBlur(np.log(local), 5) ** 2)))


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
    """Those of frames (H, W, 3) uint8, in the order of time, that are coloured as the first is, or grey; the
    others behind a title, where they are most and begin within `_TITLE` of all."""
    shares = _coloured_shares(frames_bgr)
    is_other = [_is_recoloured(share, shares[0]) for share in shares]
    is_behind_title = 2 * sum(is_other) > len(shares) and is_other.index(True) < _TITLE * len(shares)
    return [frame for frame, other in zip(frames_bgr, is_other, strict=True) if other == is_behind_title]


def telling(images_bgr: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Those of images (H, W, 3) uint8, in the order of time, that tell together what a scene looks like: they
    are `showing_something`, `unrepeated`, `coloured_alike` and `in_one_light`."""
    return in_one_light(coloured_alike(unrepeated(showing_something(images_bgr))))


def unrepeated(frames_bgr: list[np.ndarray]) -> list[np.ndarray]:
    """Frames (H, W, 3) uint8 without those that repeat the one before, of a feed that is frozen for long: who
    was there then would be the scene. All where camera or encoder leaves no noise, as an empty yard is the
    same for long, and where few differ."""
    sampled = _sampled(frames_bgr)
    changes = np.array([1.0, *(np.mean(one != other) for one, other in pairwise(sampled))])
    usual = np.quantile(changes, 1 - _FROZEN_SHARE)
    new = np.flatnonzero(changes > usual / 10)  # encoders refresh what is repeated, and change a little then
    is_long = np.diff(new, append=len(frames_bgr)).max(initial=0) >= _FEWEST
    is_frozen = is_long and usual >= _NOISY_SHARE and len(new) < (1 - _FROZEN_SHARE) * len(frames_bgr)
    return [frames_bgr[k] for k in new] if is_frozen and len(new) >= _FEWEST else frames_bgr


def in_one_light(frames_bgr: list[np.ndarray]) -> list[np.ndarray]:
    """Those of frames (H, W, 3) uint8 that are as bright as the darker middle one, where these are half or
    more of them and much less is saturated in them than in the others, or much more: a lamp went on. That
    cannot be evened out, and the median of both is of neither."""
    if not frames_bgr:
        return frames_bgr
    sampled = _sampled(frames_bgr)
    brightness = np.array([pixels.mean() for pixels in sampled]) + 1
    factors = brightness / np.sort(brightness)[(len(brightness) - 1) // 2]
    is_near = np.abs(np.log(factors)) < math.log(_ONE_LIGHT)
    if 2 * np.count_nonzero(is_near) < len(is_near) or is_near.all():
        return frames_bgr
    saturated = np.array([np.mean(pixels.max(axis=1) >= SATURATED) for pixels in sampled])
    if abs(np.median(saturated[is_near]) - np.median(saturated[~is_near])) < _SATURATED_SHARE:
        return frames_bgr
    return [frame for frame, near in zip(frames_bgr, is_near, strict=True) if near]


def are_grey(frames_bgr: Sequence[np.ndarray]) -> bool:
    """Whether frames (H, W, 3) uint8, at least one, have hardly any colour."""
    return bool(np.median(_coloured_shares(frames_bgr)) < _WITHOUT_COLOUR)


def _sampled(frames_bgr) -> list[np.ndarray]:
    """Some pixels (n, 3) uint8 of each frame, the same ones."""
    return [frame.reshape(-1, 3)[::_STRIDE] for frame in frames_bgr]


def _coloured_shares(frames_bgr) -> list[float]:
    return [_coloured_share(pixels.T) for pixels in _sampled(frames_bgr)]


def _is_recoloured(*shares) -> bool:
    """Whether of two pictures, with these shares of coloured pixels, one is grey and the other is not."""
    return min(shares) < _WITHOUT_COLOUR and max(shares) > _WITH_COLOUR


def _coloured_share(sampled, contrast: float = 1.0) -> float:
    """The share of pixels (3, n) uint8 that have colour, where contrasts are so many times the usual ones."""
    differences = channel_spread(sampled)
    return np.count_nonzero(differences > max(_COLOUR * min(contrast, 1.0), _LEAST_COLOUR)) / len(differences)


def _is_usable(sampled) -> np.ndarray:
    """(n,) bool: which pixels (3, n) uint8 are neither dark nor saturated in any channel."""
    return (sampled.min(axis=0) > DARK) & (sampled.max(axis=0) < SATURATED)
