"""Foreground: which pixels of a frame show something that does not belong to the empty scene.

Two background models share one frame around them (`Segmenter`), which compensates slow and sudden changes of
the light, notices a moved camera, and learns the background anew after either:

- `MedianBackground` for low-rate sequences: the per-pixel median of frames spread over the footage with a
  per-pixel noise level; what stays is absorbed slowly.
- `MixtureBackground` for video: the adaptive Gaussian mixture of Zivkovic 2004 with shadow detection, learnt
  on such spread frames too, so that people who stand still from the first frame on are foreground.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from .camera import CameraWatch

#: A person who stands still melts into the background with this time constant, seconds.
ABSORPTION_S = 300.0
#: Below this rate, frames per second, consecutive frames say little about each other: median background.
LOW_RATE_FPS = 4.0
#: A background is learnt from this many frames at the most, at the least this many.
LEARNING_FRAMES, MIN_LEARNING_FRAMES = 60, 8
#: Changed share of the scene beyond which the light has changed, not the people moved.
LIGHT_CHANGE_SHARE = 0.6
#: A sudden change of a channel's gain by more than this factor is a light change too.
LIGHT_CHANGE_GAIN = 1.25
#: Number of consecutive checks that must agree on a moved camera.
CAMERA_SHIFT_CHECKS = 3

_SHADOW_DARKEST, _SHADOW_LIGHTEST, _SHADOW_COLOUR_SPREAD = 0.55, 1.0, 0.10


@dataclass(frozen=True, eq=False)
class Foreground:
    """The foreground of one frame.

    Attributes
    ----------
    mask : (H, W) bool
        True where the frame shows something that the empty scene does not.
    flags : tuple of str
        "learning" (no background yet: the mask is empty), "light_change", "camera_moved".
    """

    mask: np.ndarray
    flags: tuple[str, ...]


class MedianBackground:
    """Per-pixel median with a per-pixel noise level.

    Parameters
    ----------
    rate : float
        Frames per second, for the speed of absorption.
    """

    def __init__(self, rate: float):
        self.rate = rate

    def learn(self, frames: np.ndarray) -> None:
        """Learn from (n, H, W, 3) uint8 frames of comparable brightness."""
        median = np.median(frames, axis=0)
        difference = np.abs(frames - median.astype(np.int16)).max(axis=-1)
        # The lower quartile of |difference| sees the noise even where people stand most of the time; for
        # Gaussian noise it lies at 0.319 standard deviations (the largest of three channels: 0.55).
        noise = np.percentile(difference, 25, axis=0) / 0.55
        self._background = median.astype(np.float32)
        self._threshold = np.clip(3.5 * noise, 14, 80).astype(np.uint8)

    def apply(self, frame_bgr: np.ndarray) -> np.ndarray:
        """Segment a (H, W, 3) uint8 frame: (H, W) uint8, 255 in the foreground, and adapt to it."""
        background = self._background.astype(np.uint8)
        b, g, r = cv2.split(cv2.absdiff(frame_bgr, background))
        mask = cv2.compare(cv2.max(cv2.max(b, g), r), self._threshold, cv2.CMP_GT)
        changed = np.flatnonzero(mask)
        shadow = is_shadow(frame_bgr.reshape(-1, 3)[changed], background.reshape(-1, 3)[changed])
        mask.ravel()[changed[shadow]] = 0
        absorption = 1.0 / (ABSORPTION_S * self.rate)
        cv2.accumulateWeighted(frame_bgr, self._background, absorption)
        cv2.accumulateWeighted(frame_bgr, self._background, min(20 * absorption, 0.05), mask=255 - mask)
        return mask

    @property
    def image(self) -> np.ndarray:
        """(H, W, 3) uint8: the empty scene."""
        return self._background.astype(np.uint8)


class MixtureBackground:
    """Adaptive Gaussian mixture (OpenCV's MOG2) that learns slowly once it knows the scene.

    Parameters
    ----------
    rate : float
        Frames per second, for the speed of absorption.
    """

    def __init__(self, rate: float):
        self.rate = rate

    def learn(self, frames: np.ndarray) -> None:
        """Learn from (n, H, W, 3) uint8 frames of comparable brightness."""
        self._mixture = cv2.createBackgroundSubtractorMOG2(
            history=len(frames), varThreshold=20, detectShadows=True
        )
        self._mixture.setShadowThreshold(_SHADOW_DARKEST)
        for k, frame in enumerate(frames):
            self._mixture.apply(frame, learningRate=1.0 / (k + 1))

    def apply(self, frame_bgr: np.ndarray) -> np.ndarray:
        """Segment a (H, W, 3) uint8 frame: (H, W) uint8, 255 in the foreground, and adapt to it."""
        mask = self._mixture.apply(frame_bgr, learningRate=1.0 / (ABSORPTION_S * self.rate))
        return cv2.compare(mask, 255, cv2.CMP_EQ)  # 127 marks a shadow

    @property
    def image(self) -> np.ndarray:
        """(H, W, 3) uint8: the empty scene."""
        return self._mixture.getBackgroundImage()


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


def channel_gains(frame_bgr, reference_bgr) -> np.ndarray:
    """Factor per channel by which a frame is brighter than the empty scene, robust to the people in it.

    Parameters
    ----------
    frame_bgr, reference_bgr : (H, W, 3) uint8

    Returns
    -------
    (3,) float64: the median ratio over pixels that are neither dark nor saturated; ones where there are none.
    """
    frame = frame_bgr[::4, ::4].reshape(-1, 3)
    reference = reference_bgr[::4, ::4].reshape(-1, 3)
    saturated = np.maximum(frame, reference).max(axis=1) >= 250
    usable = ~saturated & (np.minimum(frame, reference).min(axis=1) > 12)
    if not usable.any():
        return np.ones(3)
    return np.median(frame[usable] / reference[usable].astype(np.float32), axis=0)


def apply_gains(frame_bgr, gains) -> np.ndarray:
    """Divide each channel of a (H, W, 3) uint8 frame by its gain, rounded and saturated."""
    levels = np.arange(256)[:, None] / np.maximum(gains, 0.05)
    table = np.clip(np.rint(levels), 0, 255).astype(np.uint8)
    return cv2.LUT(frame_bgr, table[None])


class Segmenter:
    """Foreground of the frames of one camera, in order.

    Parameters
    ----------
    rate : float
        Frames per second that will be given to `apply`; chooses the model: `MedianBackground` below
        `LOW_RATE_FPS`, `MixtureBackground` otherwise.
    roi : (H, W) bool
        Region of interest: changes are measured inside it.
    """

    def __init__(self, rate: float, roi: np.ndarray):
        self.rate = rate
        self.roi = roi
        self._model = MedianBackground(rate) if rate < LOW_RATE_FPS else MixtureBackground(rate)
        self._reference = None  # the empty scene as first learnt: light and camera are judged against it
        self._watch: CameraWatch | None = None
        self._gains = np.ones(3)
        self._recent = deque(maxlen=LEARNING_FRAMES)
        self._recent_step = max(1, round(rate / 2))  # about two frames a second
        self._learning_for: str | None = "learning"
        self._odd_checks = 0
        self._moved = False
        self._n_frames = 0

    def learn(self, frames_bgr: Sequence[np.ndarray]) -> None:
        """Learn the empty scene from frames spread over the footage.

        Parameters
        ----------
        frames_bgr : sequence of (H, W, 3) uint8 arrays, at least one
        """
        frames = np.stack(frames_bgr)
        reference = np.median(frames, axis=0).astype(np.uint8)
        for _ in range(2):  # the light differs between the frames: even it out, then look again
            frames = np.stack([apply_gains(f, channel_gains(f, reference)) for f in frames_bgr])
            reference = np.median(frames, axis=0).astype(np.uint8)
        self._model.learn(frames)
        self._reference = reference
        self._gains = np.ones(3)
        self._learning_for = None
        if self._watch is None:
            self._watch = CameraWatch(reference)

    def apply(self, frame_bgr: np.ndarray) -> Foreground:
        """Segment the next (H, W, 3) uint8 frame."""
        self._n_frames += 1
        if self._learning_for and self._collect(frame_bgr):
            self.learn(self._recent)
            self._recent.clear()
        if self._reference is None:
            return Foreground(np.zeros(self.roi.shape, bool), ("learning",))
        gains = channel_gains(frame_bgr, self._reference)
        jumped = np.abs(np.log(gains / self._gains)).max() > np.log(LIGHT_CHANGE_GAIN)
        self._gains += (gains - self._gains) * (1.0 if jumped else 0.1)
        evened = apply_gains(frame_bgr, gains)
        mask = self._model.apply(evened)
        mask = cv2.medianBlur(mask, 3)
        mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, _CLOSING)
        foreground = (mask > 0) & self.roi
        if self._learning_for is None:
            changed_share = np.count_nonzero(foreground) / np.count_nonzero(self.roi)
            if self._camera_has_moved(evened):
                self._learning_for = "camera_moved"
            elif jumped or changed_share > LIGHT_CHANGE_SHARE:
                self._learning_for = "light_change"
        flags = [self._learning_for] if self._learning_for else []
        if self._moved and "camera_moved" not in flags:
            flags.append("camera_moved")
        return Foreground(foreground, tuple(flags))

    def _collect(self, frame_bgr) -> bool:
        """Keep the frame for learning, now and then; True when there are enough."""
        if self._n_frames % self._recent_step == 0:
            self._recent.append(frame_bgr)
        return len(self._recent) >= MIN_LEARNING_FRAMES

    def _camera_has_moved(self, frame_bgr) -> bool:
        """Whether the image has just been shifted against the first learnt scene, or come back.

        Checked about twice a second. `_moved` stays as long as the shift does, as the region of interest and
        the perspective no longer fit.
        """
        if self._n_frames % self._recent_step:
            return False
        in_place = self._watch.shift(frame_bgr) == (0.0, 0.0)
        self._odd_checks = 0 if in_place != self._moved else self._odd_checks + 1
        if self._odd_checks < CAMERA_SHIFT_CHECKS:
            return False
        self._moved, self._odd_checks = not self._moved, 0
        return True


_CLOSING = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 5))
