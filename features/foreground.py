"""Foreground: which pixels of a frame show something that does not belong to the empty scene.

The background is the per-pixel median of frames spread over the footage with a per-pixel noise level
(`MedianBackground`), so that people who stand still from the first frame on are foreground. It is learnt anew
from the last twenty minutes now and then, never updated frame by frame: on Mall the leak of half-detected
people into a running average cost a third of the accuracy, and an adaptive mixture of Gaussians (Zivkovic
2004) costs far more time and counts no better (docs/decisions/2026-11-20-speed.md). `Segmenter` evens out the
light, notices sudden changes of it and a moved camera, and learns the background anew after either.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from .camera import CameraWatch
from .images import largest_difference, noise_of, percentile_of

#: A person who stands still melts into the background after about this time, seconds.
ABSORPTION_S = 600.0
#: A background is learnt from this many frames at the most, at the least this many.
LEARNING_FRAMES, MIN_LEARNING_FRAMES = 60, 8
#: Changed share of the scene beyond which the light has changed, not the people moved.
LIGHT_CHANGE_SHARE = 0.6
#: A sudden change of a channel's gain by more than this factor is a light change too.
LIGHT_CHANGE_GAIN = 1.25
#: Number of consecutive checks that must agree on a moved camera.
CAMERA_SHIFT_CHECKS = 3

#: Local light is evened out over a grid of this many blocks, each seen through SAMPLES x SAMPLES pixels.
LIGHT_ROWS, LIGHT_COLUMNS, SAMPLES = 12, 16, 6
#: A larger local change than this is no drift of the light but a person.
LIGHT_RANGE = 0.25

_SHADOW_DARKEST, _SHADOW_LIGHTEST, _SHADOW_COLOUR_SPREAD = 0.55, 1.0, 0.10
_CLOSING = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 5))


@dataclass(frozen=True, eq=False)
class Foreground:
    """The foreground of one frame.

    Attributes
    ----------
    mask : (H, W) bool
        True where the frame shows something that the empty scene does not.
    flags : tuple of str
        "learning" (no background yet: the mask is empty), "light_change", "camera_moved".
    evened_bgr : (H, W, 3) uint8
        The frame, its light evened out to that of the empty scene; as it is while there is none.
    """

    mask: np.ndarray
    flags: tuple[str, ...]
    evened_bgr: np.ndarray


class MedianBackground:
    """Per-pixel median with a per-pixel noise level, learnt anew from a moving window of frames.

    Parameters
    ----------
    rate : float
        Frames per second, for the speed of absorption.

    Attributes
    ----------
    image : (H, W, 3) uint8 or None
        The median as last learnt; None before.
    n_frames : int
        Frames applied so far: each `window_step`-th is kept.
    """

    def __init__(self, rate: float):
        self._window = deque(maxlen=LEARNING_FRAMES)
        self._window_step = window_step(rate)
        self.image = None
        self.n_frames = 0

    def learn(self, frames: np.ndarray, for_now: bool = False) -> None:
        """Learn from (n, H, W, 3) uint8 frames of comparable brightness; those kept before are forgotten.

        `for_now`: they are of one moment. Who stands there would leave a ghost behind: it is learnt anew as
        soon as `MIN_LEARNING_FRAMES` are kept, then with twice as many, until the window is full.
        """
        self._window.clear()
        self._due = MIN_LEARNING_FRAMES if for_now else LEARNING_FRAMES
        self.image = median_of(frames)
        noise = noise_of([largest_difference(frame, self.image) for frame in frames])
        threshold = cv2.merge([np.clip(3.5 * noise, 10, 80).astype(np.uint8)] * 3)
        self._range = cv2.subtract(self.image, threshold), cv2.add(self.image, threshold)

    def apply(self, frame_bgr: np.ndarray) -> np.ndarray:
        """Segment a (H, W, 3) uint8 frame: (H, W) uint8, 255 in the foreground, and keep it for learning."""
        self.n_frames += 1
        if self.n_frames % self._window_step == 0:
            self.keep(frame_bgr)
        return self.segment(frame_bgr)

    def keep(self, frame_bgr: np.ndarray) -> None:
        """Put a (H, W, 3) uint8 frame into the window, and learn from it when it is full or due."""
        self._window.append(frame_bgr)
        if len(self._window) < self._due:
            return
        window = list(self._window)
        self.learn(np.stack(window))
        is_full = len(window) == LEARNING_FRAMES
        self._window.extend(window[LEARNING_FRAMES // 2 :] if is_full else window)
        self._due = LEARNING_FRAMES if is_full else min(2 * len(window), LEARNING_FRAMES)

    def segment(self, frame_bgr: np.ndarray) -> np.ndarray:
        """Segment a (H, W, 3) uint8 frame: (H, W) uint8, 255 in the foreground."""
        within = cv2.inRange(frame_bgr, *self._range)
        mask = cv2.bitwise_not(within)
        changed = np.flatnonzero(within == 0)
        mask.ravel()[changed[is_shadow_at(changed, frame_bgr, self.image)]] = 0
        return mask


def window_step(rate: float) -> int:
    """Of every so many frames, at `rate` per second, a background keeps one to learn from."""
    return max(1, round(2 * ABSORPTION_S * rate / LEARNING_FRAMES))


def kept_frames(n_frames: int, rate: float) -> list[int]:
    """Which of the first `n_frames` frames, numbered from 0, `Segmenter.resume` needs: 89 at the most.

    They are those from which the background was learnt last, and those that were kept since.
    """
    step, half = window_step(rate), LEARNING_FRAMES // 2
    n_kept = n_frames // step
    first = half * max(0, (n_kept - LEARNING_FRAMES) // half)
    return [step * (k + 1) - 1 for k in range(first, n_kept)]


def median_of(frames: np.ndarray) -> np.ndarray:
    """Median (H, W, 3) uint8 of frames (n, H, W, 3) uint8, rounded down."""
    return percentile_of(frames, 50).astype(np.uint8)


def is_shadow(pixels_bgr, background_bgr) -> np.ndarray:
    """Whether pixels are the background darkened evenly in all channels (Prati et al. 2003, simplified).

    Parameters
    ----------
    pixels_bgr, background_bgr : (k, 3) uint8

    Returns
    -------
    (k,) bool
    """
    ratios = (pixels_bgr + np.float32(4)) / (background_bgr + np.float32(4))
    mean = ratios.mean(axis=1)
    spread = ratios.max(axis=1) - ratios.min(axis=1)
    return (mean > _SHADOW_DARKEST) & (mean < _SHADOW_LIGHTEST) & (spread < _SHADOW_COLOUR_SPREAD)


def is_shadow_at(pixels, image_bgr, background_bgr) -> np.ndarray:
    """`is_shadow` (k,) at some pixels, (k,) int places in images (H, W, 3) uint8 read row by row."""
    channels = 3 * pixels + np.arange(3)[:, None]  # channel by channel is faster than pixel by pixel
    return is_shadow(image_bgr.ravel().take(channels).T, background_bgr.ravel().take(channels).T)


def channel_gains(frame_bgr, reference_bgr) -> np.ndarray:
    """Factor per channel by which a frame is brighter than the empty scene, robust to the people in it.

    Parameters
    ----------
    frame_bgr, reference_bgr : (H, W, 3) uint8

    Returns
    -------
    (3,) float64: the median ratio over pixels that are neither dark nor saturated; ones where there are none.
    """
    frame, reference = (
        np.stack(cv2.split(image[::4, ::4])).reshape(3, -1) for image in (frame_bgr, reference_bgr)
    )
    saturated = np.maximum(frame, reference).max(axis=0) >= 250
    usable = np.flatnonzero(~saturated & (np.minimum(frame, reference).min(axis=0) > 12))
    if not len(usable):
        return np.ones(3)
    ratios = frame.take(usable, axis=1) / reference.take(usable, axis=1).astype(np.float32)
    return np.median(ratios, axis=1, overwrite_input=True)


def local_light(frame_bgr, reference_bgr) -> np.ndarray:
    """How much brighter than the empty scene each part of a frame is, where no people are.

    A drift of daylight or a reflection on the floor brightens a part of the scene smoothly; people change
    pixels by more than `LIGHT_RANGE` or only in a part of a block, which the median passes over.

    Parameters
    ----------
    frame_bgr, reference_bgr : (H, W, 3) uint8

    Returns
    -------
    (LIGHT_ROWS, LIGHT_COLUMNS) float32: the median ratio per block; 1 where most of a block is hidden.
    """
    frame, reference = (
        sum(cv2.split(_samples(image)), np.float32(12)) for image in (frame_bgr, reference_bgr)
    )
    ratio = (frame / reference).reshape(LIGHT_ROWS, SAMPLES, LIGHT_COLUMNS, SAMPLES)
    ratio = ratio.transpose(0, 2, 1, 3).reshape(LIGHT_ROWS, LIGHT_COLUMNS, SAMPLES**2)
    ratio = np.where(np.abs(ratio - 1) < LIGHT_RANGE, ratio, np.inf)
    n_usable = np.isfinite(ratio).sum(axis=-1)
    middle = np.take_along_axis(np.sort(ratio, axis=-1), n_usable[..., None] // 2, axis=-1)[..., 0]
    light = np.where(n_usable > 0.3 * SAMPLES**2, middle, 1).astype(np.float32)
    return cv2.GaussianBlur(light, (3, 3), 0, borderType=cv2.BORDER_REPLICATE)


def _samples(image_bgr) -> np.ndarray:
    """The pixels through which the light is seen."""
    size_wh = (LIGHT_COLUMNS * SAMPLES, LIGHT_ROWS * SAMPLES)
    return cv2.resize(image_bgr, size_wh, interpolation=cv2.INTER_NEAREST)


def evening_factors(gains, light, size_wh) -> np.ndarray:
    """Factors (H, W, 3) float32 that even out the light: one over channel gains (3,) and local light.

    `light` is (LIGHT_ROWS, LIGHT_COLUMNS) float32 as of `local_light`.
    """
    factors = 1.0 / (light[..., None] * np.maximum(gains, 0.05))
    return cv2.resize(factors.astype(np.float32), size_wh, interpolation=cv2.INTER_LINEAR)


def even_out(frame_bgr, factors) -> np.ndarray:
    """Multiply a (H, W, 3) uint8 frame by `evening_factors`, rounded and saturated."""
    return cv2.multiply(frame_bgr, factors, dtype=cv2.CV_8U)


class Segmenter:
    """Foreground of the frames of one camera, in order.

    Parameters
    ----------
    rate : float
        Frames per second that will be given to `apply`.
    roi : (H, W) bool
        Region of interest: changes are measured inside it.
    """

    def __init__(self, rate: float, roi: np.ndarray):
        self.roi = roi
        self._model = MedianBackground(rate)
        self._watch = None  # the empty scene as first learnt, against which the camera is judged
        self._gains = self._factors = None  # of the last look since the scene was learnt
        self._recent = []
        self._step = max(1, round(rate / 2))  # light and camera are looked at about twice a second
        self._learning_for = "learning"
        self._odd_checks, self._moved = 0, False
        self._n_frames = -1

    @property
    def reference_bgr(self) -> np.ndarray | None:
        """The empty scene (H, W, 3) uint8 as last learnt, against which the light is judged; None before."""
        return self._model.image

    def learn(self, frames_bgr: Sequence[np.ndarray], for_now: bool = False) -> None:
        """Learn the empty scene from frames spread over the footage.

        Parameters
        ----------
        frames_bgr : sequence of (H, W, 3) uint8 arrays, at least one
            Of more than `LEARNING_FRAMES`, every second, third, … is used.
        for_now : bool
            They are of one moment, see `MedianBackground.learn`.
        """
        frames_bgr = frames_bgr[:: -(-len(frames_bgr) // LEARNING_FRAMES)]
        frames = np.stack(frames_bgr)
        for _ in range(2):  # the light differs between the frames: even it out, then look again
            reference = median_of(frames)
            for k, frame in enumerate(frames_bgr):
                frames[k] = self._evened(frame, reference)[0]
        self._model.learn(frames, for_now)
        self._gains = None
        self._learning_for = None
        if self._watch is None:
            self._watch = CameraWatch(self.reference_bgr)

    def resume(self, n_frames: int, kept_bgr: Sequence[np.ndarray]) -> None:
        """Go on, in the scene just learnt, as if `n_frames` frames had been applied.

        Parameters
        ----------
        n_frames : int
        kept_bgr : sequence of (H, W, 3) uint8
            Those of them that `kept_frames` names.
        """
        for frame in kept_bgr:
            self._model.keep(self._evened(frame, self.reference_bgr)[0])
        self._model.n_frames = n_frames
        self._n_frames = n_frames - 1

    def apply(self, frame_bgr: np.ndarray) -> Foreground:
        """Segment the next (H, W, 3) uint8 frame."""
        self._n_frames += 1
        looking = self._n_frames % self._step == 0
        if self._learning_for and looking:
            self._recent.append(frame_bgr)
            if len(self._recent) == MIN_LEARNING_FRAMES:
                self.learn(self._recent, for_now=True)
                self._recent = []
        if self.reference_bgr is None:
            return Foreground(np.zeros(self.roi.shape, bool), ("learning",), frame_bgr)
        jumped = False
        if looking or self._gains is None:
            evened, gains, self._factors = self._evened(frame_bgr, self.reference_bgr)
            if self._gains is not None:
                jumped = np.abs(np.log(gains / self._gains)).max() > np.log(LIGHT_CHANGE_GAIN)
            self._gains = gains
        else:
            evened = even_out(frame_bgr, self._factors)
        mask = cv2.medianBlur(self._model.apply(evened), 3)
        mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, _CLOSING)
        foreground = cv2.bitwise_and(mask, self.roi.view(np.uint8)).view(bool)
        if self._learning_for is None:
            if looking and self._camera_has_moved(evened):
                self._learning_for = "camera_moved"
            elif jumped or np.count_nonzero(foreground) > LIGHT_CHANGE_SHARE * np.count_nonzero(self.roi):
                self._learning_for = "light_change"
        flags = {self._learning_for} if self._learning_for else set()
        if self._moved:
            flags.add("camera_moved")
        return Foreground(foreground, tuple(sorted(flags)), evened)

    @staticmethod
    def _evened(frame_bgr, reference_bgr):
        gains = channel_gains(frame_bgr, reference_bgr)
        sampled = _samples(frame_bgr)
        no_light = np.ones((LIGHT_ROWS, LIGHT_COLUMNS), np.float32)
        sampled = even_out(sampled, evening_factors(gains, no_light, sampled.shape[1::-1]))
        factors = evening_factors(gains, local_light(sampled, reference_bgr), frame_bgr.shape[1::-1])
        return even_out(frame_bgr, factors), gains, factors

    def _camera_has_moved(self, frame_bgr) -> bool:
        """Whether the image has just been shifted against the first learnt scene, or come back.

        `_moved` stays as long as the shift does, as the region of interest and the perspective no longer fit.
        """
        in_place = self._watch.shift(frame_bgr) == (0.0, 0.0)
        self._odd_checks = 0 if in_place != self._moved else self._odd_checks + 1
        if self._odd_checks < CAMERA_SHIFT_CHECKS:
            return False
        self._moved, self._odd_checks = not self._moved, 0
        return True
