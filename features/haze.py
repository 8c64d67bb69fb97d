"""Haze: fog, smoke, a dirty or sunlit dome before the camera lay a veil of light over all that it shows.

A scene J is seen as I = t J + (1 - t) A, with A the light of the haze and t the share that passes it
(Koschmieder, 1924), so that people hardly stand out from what is behind them. In a clear picture nearly every
part has something dark, in a channel at least (the dark channel of He, Sun and Tang, CVPR 2009); what is
missing of that is the veil (1 - t) A. An even, light floor has nothing dark either, but people who come are.
"""

from collections.abc import Sequence
from itertools import compress

import cv2
import numpy as np

from .background import LEARNING_FRAMES, MIN_LEARNING_FRAMES
from .captions import captions
from .images import contrast_of, larger_of, largest_difference, median_of
from .light import LightMeter, showing_something, shows_nothing
from .tones import Haze

_PARTS = 8  # rows, and columns, of parts that a picture is divided into
_DARKER = 20  # per cent of a row's parts that may be darker than the veil, by a text or a mask
_UPPER_HALF = 3  # the last row of parts in the upper half, from 0
_DARK = 20  # grey levels: parts of clear footage are so dark somewhere at some time, as a rule
_CLEAR = 60  # where the whole upper half is lighter than this, a veil begins to be taken away,
_HAZY = 90  # and where it is lighter than this, all of it is
#: By how many times contrast grows at the most: beyond, so does the noise of coding.
_MOST_GAIN = 6.0
_MOVES = 6  # who moves, where there may be a veil, differs from the median by so many grey levels or more,
_PIECE = np.ones((3, 3), np.uint8)  # in whole pieces of this size;
_LEAST_MOVING = 30  # of fewer such pixels, in all images together, nothing is told
_MOST_DARK = 0.1  # there is no veil if more than this share of them
_DARKER_BY = 15  # is so many grey levels darker than it is
_TALL = 2  # so many rows of parts further down, where they stand
#: Each so many images are looked at first, as mostly they are clear.
_FEW = 8
#: Images may be without haze whose contrast is so many times that of others, which then show less than the
#: second share of it.
_CLEARER, _LESS = 1.4, 0.8
#: A veil of fewer grey levels is none, and it is another one from so many on.
_LEAST_VEIL, _CHANGED = 10.0, 20.0


def haze_of(images_bgr: Sequence[np.ndarray], before: Haze | None = None) -> Haze | None:
    """The haze over images of one camera.

    Parameters
    ----------
    images_bgr : sequence of (H, W, 3) uint8, at least one
        Spread over some time.
    before : Haze, optional
        What was known, and stays where nobody moves by whom it could be told.

    Returns
    -------
    Haze or None
        None where they are clear.
    """
    few = [image for image in images_bgr[::_FEW] if not shows_nothing(image)]
    if few and _levels(few)[_UPPER_HALF] <= _CLEAR:
        return None  # with the others it is darker still
    images_bgr = showing_something(images_bgr)
    levels = _levels(images_bgr)
    usual = levels[_UPPER_HALF]
    if usual <= _CLEAR:
        return None
    frames = np.stack(images_bgr)
    median = median_of(frames)
    is_scene = ~captions(frames, median)
    height = len(median)
    lower = np.append(levels[_TALL:], np.full(_TALL, levels[-1]))
    lower = np.repeat(lower, np.diff([*_firsts(height), height]))[:, None]
    is_veiled, much_darker = lower > _CLEAR, lower - _DARKER_BY
    n_moving = n_dark = 0
    for image in images_bgr:
        moves = (largest_difference(image, median) >= _MOVES) & is_scene & is_veiled
        moves = cv2.erode(moves.view(np.uint8), _PIECE) > 0
        n_moving += np.count_nonzero(moves)
        n_dark += np.count_nonzero(moves & (_dark_channel(image) < much_darker))
    if n_moving < _LEAST_MOVING:
        return before
    if n_dark > _MOST_DARK * n_moving:
        return None
    share = min(1.0, (usual - _CLEAR) / (_HAZY - _CLEAR))
    lifted = share * np.maximum(levels - _DARK, 0.0)
    if lifted.mean() < _LEAST_VEIL:
        return None
    white = np.percentile(cv2.cvtColor(frames.reshape(-1, *frames.shape[2:]), cv2.COLOR_BGR2GRAY), 98)
    transmission = np.maximum(1 - lifted / (white - _DARK), 1 / _MOST_GAIN)
    return Haze(transmission, _DARK + lifted - transmission * _DARK)


def without_haze(images_bgr: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """Those of images (H, W, 3) uint8 of one camera that show more contrast, where most of the others show
    the same in haze, in glare or in less contrast; else all.

    A clear scene tells what there is in haze, and hardly one in haze what there is in clear air. All where
    the clear ones are most, as the median is theirs then, or too few to learn from.
    """
    if len(images_bgr) < 2 * MIN_LEARNING_FRAMES:
        return images_bgr
    contrasts = np.array([max(1, contrast_of(image)) for image in images_bgr])
    is_clear = larger_of(contrasts, _CLEARER)
    if is_clear is None or not MIN_LEARNING_FRAMES <= np.count_nonzero(is_clear) <= len(is_clear) / 2:
        return images_bgr
    clear = list(compress(images_bgr, is_clear))
    meter = LightMeter(median_of(np.stack(clear)))
    lights = map(meter.measure, compress(images_bgr, ~is_clear))
    is_hazy = [light.tones is not None and light.contrast.mean() < _LESS for light in lights]
    return clear if 2 * sum(is_hazy) > len(is_hazy) else images_bgr


def is_dark_enough(image_bgr: np.ndarray) -> bool:
    """Whether an image (H, W, 3) uint8 of a scene has enough that is dark to be seen without haze."""
    return bool(_levels([image_bgr])[_UPPER_HALF] <= _CLEAR)


def _levels(images_bgr) -> np.ndarray:
    """(_PARTS,) float64: how dark most parts of each row of them are at some time, never rising from the top
    down."""
    darkest = np.min([_dark_channel(image) for image in images_bgr], axis=0)
    rows, columns = map(_firsts, darkest.shape)
    of_parts = np.minimum.reduceat(np.minimum.reduceat(darkest, rows, axis=0), columns, axis=1)
    levels = np.percentile(of_parts, _DARKER, axis=1)
    levels[0] = levels[:2].max()  # darker at the top is a text or a mask, mostly: haze becomes less downwards
    return np.minimum.accumulate(levels)


def _firsts(n) -> np.ndarray:
    """The first of each part of n rows or columns."""
    return np.linspace(0, n, _PARTS, endpoint=False).astype(int)


def _dark_channel(image_bgr) -> np.ndarray:
    blue, green, red = cv2.split(image_bgr)
    return cv2.min(cv2.min(blue, green), red)


class HazeWatch:
    """Follows the haze before a live camera, whose first seconds tell of it what the whole of a file would:
    so many images as a scene is learnt from first, and later ones from half a minute each.

    Parameters
    ----------
    rate : float
        Frames per second that will be given to `see`.

    Attributes
    ----------
    haze : Haze or None
        As last seen.
    """

    def __init__(self, rate: float):
        self.haze: Haze | None = None
        self._step, self._n_frames = max(1, round(rate / 2)), -1
        self._images, self._n_needed = [], MIN_LEARNING_FRAMES

    def see(self, image_bgr: np.ndarray, is_seen_through: bool = False) -> bool:
        """See the next image, (H, W, 3) uint8; whether the haze is another one from now on. What has come is
        none as long as it is seen through, since the light before it is known."""
        self._n_frames += 1
        if self._n_frames % self._step == 0:
            self._images.append(image_bgr)
        if len(self._images) < self._n_needed:
            return False
        found, self._images, self._n_needed = haze_of(self._images, self.haze), [], LEARNING_FRAMES
        hazes = self.haze, found
        before, after = (_DARK if haze is None else haze.transmission * _DARK + haze.veil for haze in hazes)
        if np.abs(after - before).mean() < _CHANGED or (is_seen_through and np.mean(after - before) > 0):
            return False
        self.haze = found
        return True
