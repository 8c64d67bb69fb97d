"""Foreground: which pixels of a frame show something that does not belong to the empty scene.

The background is the per-pixel median of frames spread over the footage with a per-pixel noise level
(`MedianBackground`), so that people who stand still from the first frame on are foreground; for counts in any
scene, where crowds pass, it is what is seen between them (`settle`). In long footage it is learnt anew from
the last twenty minutes now and then, never updated frame by frame: on Mall the leak of half-detected people
into a running average cost a third of the accuracy, and an adaptive mixture of Gaussians (Zivkovic 2004)
costs far more time and counts no better (docs/decisions/2026-11-20-speed.md). `Segmenter` sees the background
in the light of the moment, notices sudden changes of it and a moved camera, and learns the background anew
after either.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from .camera import CameraWatch, showing_one_view
from .captions import captions
from .images import largest_difference, middle_of, narrowest_of, noise_of, percentile_of
from .light import Light, LightMeter, coloured_alike, showing_something, shows_nothing
from .motion import LOW_RATE_FPS
from .steadying import Steadier
from .tones import SATURATED

#: A person who stands still melts into the background after about this time, seconds.
ABSORPTION_S = 600.0
#: A background is learnt from this many frames at the most, at the least this many.
LEARNING_FRAMES, MIN_LEARNING_FRAMES = 60, 8
#: Footage of up to this length is seen to its end in the scene that was learnt from all of it, seconds: fine
#: detail drifts, and from an earlier scene frames differ more (docs/decisions/2026-11-22-empty-scene.md).
ONE_SCENE_S = 3600.0
#: Where the noise is larger than this, grey levels, the median of the frames may be that of passers-by.
RESTLESS = 8.0
#: A pixel is foreground beyond so many standard deviations of its noise, in a model of one camera.
DEVIATIONS = 3.5
#: What hides the known scene in all frames is somebody, not something that was put there, where in this share
#: of it, in squares of so many pixels, it is restless and the known scene was not.
RESTLESS_SHARE, _RESTLESS_AROUND = 0.1, (31, 31)
#: Changed share of the scene beyond which the light has changed, not the people moved.
LIGHT_CHANGE_SHARE = 0.6
#: What noise adds to a difference from the empty scene: so many times its excess over the usual one. Where
#: that is more than so many grey levels, counts are not to be relied on.
PER_NOISE, NOISY = 6.0, 20.0
#: A scene is learnt in the light of the known one, whose changes a model knows, where it is brighter or
#: darker by more than this share; but not where so little is left of the light that it is mostly noise.
OTHER_LIGHT, DARKNESS = 0.1, 1 / 7
#: A sudden change of a channel's gain by more than this factor is a light change too.
LIGHT_CHANGE_GAIN = 1.25
#: Light and camera are looked at out of turn in a frame of which twice as much is foreground as before, and
#: this share of the scene more.
UNSTEADY_SHARE = 0.02
#: Number of consecutive looks that must agree on a moved camera.
CAMERA_SHIFT_CHECKS = 3
#: Learning waits for so many changes of light in a row to be over; a lamp that blinks on is learnt as it is.
MOST_FLICKERS = 8
#: Light and camera are looked at once a second, and once in so many frames.
LOOK_FRAMES = 10
#: Light is unsteady, and looked at in each frame, where a channel's gain differs by this share from that of
#: the look before, or the light on the rows of the picture by this (root mean square).
UNSTEADY_GAIN, UNSTEADY_ROWS = 0.12, 0.04
#: Whether it rains or snows is looked at each so many seconds: it does where, in more than this share of
#: `_BLOCKS`, specks of up to so many pixels are in one frame alone and not near what stays, and at least this
#: share of the area of all that are.
RAIN_CHECK_S, RAIN_SHARE, DROP_AREA, LEAST_DROPS = 4.0, 0.2, 32, 0.7

#: Brightness on a scale of ratios, above what a dark pixel has of noise.
_BRIGHTNESS = np.round(255 * np.log1p(np.arange(256) / 30) / np.log1p(255 / 30)).astype(np.uint8)
#: The empty scene is seen where whole pieces of this size differ from it by so many grey levels at the most.
_PIECE, _SEEN_WITHIN = np.ones((5, 5), np.uint8), 15
_NEIGHBOURS = np.ones((3, 3), np.uint8)
#: What is saturated may be any brighter than white: in less light it can still be white.
_BEYOND_WHITE = 5 * 255
#: The threshold where nothing is foreground.
_ANYTHING = 255
#: Columns and rows of blocks in which it may rain; how far fast limbs of people may be from where they were.
_BLOCKS, _LIMBS = (8, 6), np.ones((15, 15), np.uint8)
#: Frames that are kept between one learning and the next.
_HALF = LEARNING_FRAMES // 2
#: Pixels whose frames are compared at a time: what is computed for them takes little memory.
_AT_A_TIME = 1 << 12

_SHADOW_DARKEST, _SHADOW_LIGHTEST, _SHADOW_COLOUR_SPREAD = 0.55, 1.0, 0.10


@dataclass(frozen=True, eq=False)
class Foreground:
    """The foreground of one frame.

    Attributes
    ----------
    mask : (H, W) bool
        True where the frame shows something that the empty scene does not.
    flags : tuple of str
        "learning" (no background yet: the mask is empty), "light_change", "camera_moved", "noisy".
    light : Light or None
        Of the frame, as last looked at; None while there is no background.
    image_bgr : (H, W, 3) uint8
        What it was found in: the frame, or in rain and snow the one before it without drops and flakes.
    """

    mask: np.ndarray
    flags: tuple[str, ...]
    light: Light | None
    image_bgr: np.ndarray


@dataclass(frozen=True, eq=False)
class EmptyScene:
    """What a camera shows where nobody is.

    Attributes
    ----------
    image_bgr : (H, W, 3) uint8
    threshold : (H, W) uint8
        By how many grey levels any channel of a pixel must differ to be foreground.
    is_proven : (H, W) bool or None
        Where most frames showed people, and annotations told which did not: later footage in which somebody
        is there all the time does not change it. None: nowhere.
    """

    image_bgr: np.ndarray
    threshold: np.ndarray
    is_proven: np.ndarray | None = None

    def resized(self, size_wh: tuple[int, int]) -> "EmptyScene":
        """The same in a picture of another size."""
        proven = self.is_proven
        if proven is not None:
            proven = cv2.resize(proven.view(np.uint8), size_wh, interpolation=cv2.INTER_NEAREST).view(bool)
        return EmptyScene(cv2.resize(self.image_bgr, size_wh), cv2.resize(self.threshold, size_wh), proven)

    def is_shown_in(self, image_bgr: np.ndarray) -> bool:
        """Whether an image (H, W, 3) uint8 of any size is of this view, people or not; True where the scene
        has too little texture to tell."""
        height, width = self.image_bgr.shape[:2]
        return CameraWatch(self.image_bgr).shift(cv2.resize(image_bgr, (width, height))) == (0.0, 0.0)

    def in_grey(self) -> "EmptyScene":
        """The same without its colours."""
        grey = cv2.cvtColor(self.image_bgr, cv2.COLOR_BGR2GRAY)
        return EmptyScene(cv2.merge([grey] * 3), self.threshold, self.is_proven)


class MedianBackground:
    """Per-pixel median with a per-pixel noise level, learnt anew from a moving window of frames.

    Parameters
    ----------
    rate : float
        Frames per second, for the speed of absorption.
    any_scene : bool
        Look for the empty scene between passers-by, see `settle`, in half a window of frames or more, and let
        its edges be a little beside where they were: counts in any scene gain by both, those of a model of
        one camera do not (docs/decisions/2026-11-22-any-scene.md).

    Attributes
    ----------
    empty : EmptyScene or None
        As last learnt; None before.
    meter : LightMeter or None
        Of that; None before.
    known : EmptyScene or None
        Stays wherever it is still seen when the scene is learnt anew, see `still_seen`; that is learnt in its
        light.
    n_frames : int
        Frames seen so far: each `window_step`-th is kept.
    """

    def __init__(self, rate: float, any_scene: bool = False):
        self._rate, self._any_scene = rate, any_scene
        # a pixel is foreground beyond so many standard deviations of its noise, at least so many grey levels,
        # and besides beyond so much of the way to its darkest and its brightest neighbour
        self._deviations, self._least, self._leeway = (3.0, 8, 0.2) if any_scene else (DEVIATIONS, 10, 0.0)
        self._window = deque(maxlen=LEARNING_FRAMES)
        self._window_step = window_step(rate)
        self._n_kept, self._due = 0, MIN_LEARNING_FRAMES  # since it was learnt of other frames; the next time
        self.empty = self.known = self.meter = self._steadier = None
        self.n_frames = 0

    def steadied(self, frames: np.ndarray) -> np.ndarray:
        """Frames (n, H, W, 3) uint8 to learn from, each in the place of those that were the first."""
        if self._steadier is None:
            self._steadier = Steadier(frames)
        return np.stack([self.steady(frame) for frame in frames])

    def steady(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A frame (H, W, 3) uint8 in the place of those that were learnt first, if the camera sways.

        What became of thin things as it was reduced depends on where they were, but little once blurred.
        """
        if self._steadier is None or not self._steadier.is_needed:
            return frame_bgr
        return cv2.GaussianBlur(self._steadier.steady(frame_bgr), (3, 3), 0)

    def learn(self, frames: np.ndarray, length_s: float = 0.0, for_now: bool = False) -> None:
        """Learn from (n, H, W, 3) uint8 frames of comparable brightness; those kept before are forgotten.

        `for_now`: they are of one moment. Who stands there would leave a ghost behind: it is learnt anew as
        soon as `MIN_LEARNING_FRAMES` are kept, then with twice as many, until the window is full.
        `length_s`: they are spread over so many seconds of footage, which begins now. Up to `ONE_SCENE_S`,
        the scene is not learnt anew before its end.
        """
        self._window.clear()
        self._n_kept = 0
        self._due = MIN_LEARNING_FRAMES if for_now else LEARNING_FRAMES
        if length_s <= ONE_SCENE_S and not self._any_scene:
            n_halves = math.ceil(length_s * self._rate / (self._window_step * _HALF))
            self._due = max(self._due, n_halves * _HALF)
        self._learn(frames)

    def _learn(self, frames) -> None:
        image = median_of(frames)
        known, light = _as_coloured(self.known, image)
        if known is not None and _is_another(light):
            frames = np.stack([light.evened_out(frame) for frame in frames])
            image = median_of(frames)
        noise = noise_of(frames, image)
        restless = np.flatnonzero(noise > RESTLESS)
        if self._any_scene and len(restless) and len(frames) >= LEARNING_FRAMES // 2:
            settle(image, frames, restless)
            noise = noise_of(frames, image)
        threshold = np.clip(self._deviations * noise, self._least, 80).astype(np.uint8)
        if self._any_scene:
            threshold[captions(frames, image)] = _ANYTHING
        empty = EmptyScene(image, threshold)
        self.take(empty if known is None else still_seen(known, empty, frames), frames)

    def take(self, empty: EmptyScene, frames: Iterable[np.ndarray] = ()) -> None:
        """See this empty scene from now on; usual are noise and colours of `frames` (H, W, 3) uint8."""
        self.empty = empty
        self.meter = LightMeter(empty.image_bgr, frames)
        image = empty.image_bgr
        self._extremes = [
            cv2.addWeighted(image, 1 - self._leeway, extreme, self._leeway, 0)
            for extreme in (cv2.erode(image, _NEIGHBOURS), cv2.dilate(image, _NEIGHBOURS))
        ]
        self._limits = self._limits_at(self.empty.threshold)
        self._light = None

    def _limits_at(self, threshold) -> tuple[np.ndarray, np.ndarray]:
        """The darkest and brightest images (H, W, 3) of the empty scene, by a threshold (H, W) uint8."""
        darkest, brightest = self._extremes
        threshold = cv2.merge([threshold] * 3)
        # not saturated: in less light white is darker than what may pass for white, in haze black is brighter
        most = cv2.add(brightest, threshold, dtype=cv2.CV_16S)
        most[(brightest >= SATURATED) | (threshold == _ANYTHING)] = _BEYOND_WHITE
        return cv2.subtract(darkest, threshold, dtype=cv2.CV_16S), most

    def _widened(self, excess_noise: float) -> np.ndarray:
        """The threshold (H, W) uint8 in more than the usual noise: squares of what is independent add up."""
        threshold = np.hypot(self.empty.threshold, np.float32(PER_NOISE * excess_noise))
        return np.minimum(threshold, 255).astype(np.uint8)

    def for_another_view(self) -> "MedianBackground":
        """One that has learnt nothing, but has seen as many frames."""
        other = MedianBackground(self._rate, self._any_scene)
        other.n_frames = self.n_frames
        return other

    def resume(self, n_frames: int, n_kept: int) -> None:
        """Go on as if `n_frames` frames had been seen, the last `n_kept` of those to be kept not yet."""
        self.n_frames = n_frames
        self._n_kept = n_frames // self._window_step - n_kept
        self._due = max(self._due, self._n_kept + LEARNING_FRAMES)

    def learns_anew(self, n_frames: int) -> bool:
        """Whether what was just learnt, before any frame was seen, is learnt anew within so many."""
        return n_frames // self._window_step >= self._due

    def see(self) -> bool:
        """Count one more frame; whether it is its turn to be kept for learning."""
        self.n_frames += 1
        return self.n_frames % self._window_step == 0

    def keep(self, evened_bgr: np.ndarray) -> None:
        """Put an evened (H, W, 3) uint8 frame into the window, and learn from that when it is due.

        Black frames and the like take part in the first alone."""
        self._window.append(evened_bgr)
        self._n_kept += 1
        if self._n_kept < self._due:
            return
        shown = [frame for frame in self._window if not shows_nothing(frame)]
        if len(shown) >= MIN_LEARNING_FRAMES:  # the signal may be lost for hours
            self._learn(np.stack(shown))
        is_full = len(self._window) == LEARNING_FRAMES
        self._due = self._due + _HALF if is_full else min(2 * self._due, LEARNING_FRAMES)

    def segment(self, frame_bgr: np.ndarray, light: Light) -> np.ndarray:
        """Segment a (H, W, 3) uint8 frame seen in some light: (H, W) uint8, 1 in the foreground, else 0."""
        if light is not self._light:  # so that not every frame need be evened out
            self._light = light
            noise = light.excess_noise
            limits = self._limits_at(self._widened(noise)) if noise else self._limits
            self._lit = light.cast_on(self.empty.image_bgr)
            self._range = [
                light.cast_on(*limit) for limit in zip(limits, (np.minimum, np.maximum), strict=True)
            ]
        changed = np.flatnonzero(cv2.inRange(frame_bgr, *self._range) == 0)
        mask = np.zeros(frame_bgr.shape[:2], np.uint8)
        mask.ravel()[changed] = ~is_shadow_at(changed, frame_bgr, self._lit)
        return mask


def look_step(rate: float) -> int:
    """Of so many frames, at `rate` per second, `Segmenter` looks at one's light and at another's view."""
    return max(1, min(round(rate), LOOK_FRAMES))


def window_step(rate: float) -> int:
    """Of every so many frames, at `rate` per second, a background keeps one to learn from."""
    return max(1, round(2 * ABSORPTION_S * rate / LEARNING_FRAMES))


def kept_frames(n_frames: int, rate: float) -> list[int]:
    """Which of the first `n_frames` frames, numbered from 0, `Segmenter.resume` needs: 89 at the most.

    They are those from which the background was learnt last, and those that were kept since.
    """
    step = window_step(rate)
    n_kept = n_frames // step
    first = _HALF * max(0, (n_kept - LEARNING_FRAMES) // _HALF)
    return [step * (k + 1) - 1 for k in range(first, n_kept)]


def median_of(frames: np.ndarray) -> np.ndarray:
    """Median (H, W, 3) uint8 of frames (n, H, W, 3) uint8, rounded down."""
    return percentile_of(frames, 50).astype(np.uint8)


def settle(image_bgr: np.ndarray, frames: np.ndarray, places: np.ndarray) -> None:
    """Replace the median by the mean of the quarter of the frames whose brightnesses lie closest together.

    Where people pass most of the time, the median is some mixture of their clothes. Those are of any colour,
    but the floor is always of the same. Closeness is that of ratios: black clothes differ by few grey levels.
    Leaves that sway show what is behind them as often, but never a piece of it as large as `_PIECE`: the
    median stays where no tenth of the frames does.

    Parameters
    ----------
    image_bgr : (H, W, 3) uint8
        The median, which is changed.
    frames : (n, H, W, 3) uint8
    places : (k,) int
        Pixels to look at, numbered row by row.
    """
    settled = image_bgr.copy()
    for first in range(0, len(places), _AT_A_TIME):
        some = places[first : first + _AT_A_TIME]
        pixels = frames.reshape(len(frames), -1, 3)[:, some]
        grey = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
        members = narrowest_of(_BRIGHTNESS[grey], -(-len(frames) // 4))
        settled.reshape(-1, 3)[some] = np.mean(pixels, axis=0, where=members[..., None])
    chosen = places[_is_seen(settled, frames).ravel()[places]]
    image_bgr.reshape(-1, 3)[chosen] = settled.reshape(-1, 3)[chosen]


def still_seen(known: EmptyScene, empty: EmptyScene, frames: np.ndarray) -> EmptyScene:
    """An empty scene with what is known in the places of what hides it most of the time, but not always.

    That is where the two differ, and a little around it; elsewhere the latest holds, as light and leaves are
    never quite the same again. It holds too where the known one is a shadow on it: the sun came out. What is
    proven stays, and what restless things hide is known even where they always do: in footage of seconds or a
    few minutes they are people, who stand or follow each other, while a car or a bench is still.

    Parameters
    ----------
    known, empty : EmptyScene
        As it was, and as it has just been learnt.
    frames : (n, H, W, 3) uint8
        In the light of `empty`, of which that was learnt.
    """
    light = LightMeter(known.image_bgr).measure(empty.image_bgr)
    image = light.cast_on(known.image_bgr)
    is_known = _is_seen(image, frames)
    is_shade = is_shadow(image.reshape(-1, 3), empty.image_bgr.reshape(-1, 3)).reshape(is_known.shape)
    differs = differing(image, empty.image_bgr)
    is_hidden = differs & ~is_shade & (is_known | _hidden_by_people(differs, known, empty))
    if known.is_proven is not None:
        is_hidden |= known.is_proven
    return EmptyScene(
        np.where(is_hidden[..., None], image, empty.image_bgr),
        np.where(is_hidden, known.threshold, empty.threshold),
        known.is_proven,
    )


def _hidden_by_people(differs, known: EmptyScene, empty: EmptyScene) -> np.ndarray:
    """(H, W) bool: where what differs from a known scene is restless around, see `RESTLESS_SHARE`."""
    least = DEVIATIONS * RESTLESS
    restless = differs & (empty.threshold >= least) & (known.threshold < least)
    n_restless, n_differing = (
        cv2.boxFilter(pixels.astype(np.float32), -1, _RESTLESS_AROUND, normalize=False)
        for pixels in (restless, differs)
    )
    return n_restless > RESTLESS_SHARE * n_differing


def differing(image_bgr: np.ndarray, other_bgr: np.ndarray, least: int = _SEEN_WITHIN) -> np.ndarray:
    """(H, W) bool: where whole pieces of two pictures (H, W, 3) uint8 differ by more than so many grey
    levels, and a little around them."""
    differs = cv2.compare(largest_difference(image_bgr, other_bgr), least, cv2.CMP_GT)
    return cv2.dilate(cv2.morphologyEx(differs, cv2.MORPH_OPEN, _PIECE), _PIECE, iterations=2).view(bool)


def _is_seen(image_bgr, frames) -> np.ndarray:
    """(H, W) bool: where a tenth of the frames or more show whole pieces of an image."""
    n_seen = np.zeros(image_bgr.shape[:2], np.uint8)
    for frame in frames:
        is_seen = cv2.inRange(largest_difference(frame, image_bgr), 0, _SEEN_WITHIN)
        n_seen += cv2.morphologyEx(is_seen, cv2.MORPH_OPEN, _PIECE) & 1
    return n_seen >= len(frames) / 10


def is_shadow(pixels_bgr, background_bgr) -> np.ndarray:
    """Whether pixels are the background darkened evenly in all channels (Prati et al. 2003, simplified).

    Parameters
    ----------
    pixels_bgr, background_bgr : (k, 3) uint8

    Returns
    -------
    (k,) bool
    """
    blue, green, red = ((pixels_bgr + np.float32(4)) / (background_bgr + np.float32(4))).T
    total = blue + green + red
    spread = np.maximum(np.maximum(blue, green), red) - np.minimum(np.minimum(blue, green), red)
    is_darker = (total > 3 * _SHADOW_DARKEST) & (total < 3 * _SHADOW_LIGHTEST)
    return is_darker & (spread < _SHADOW_COLOUR_SPREAD)


def is_shadow_at(pixels, image_bgr, background_bgr) -> np.ndarray:
    """`is_shadow` (k,) at some pixels, (k,) int places in images (H, W, 3) uint8 read row by row."""
    channels = 3 * pixels + np.arange(3)[:, None]  # channel by channel is faster than pixel by pixel
    return is_shadow(image_bgr.ravel().take(channels).T, background_bgr.ravel().take(channels).T)


def _n_blocks_with(mask) -> int:
    """In how many of `_BLOCKS` anything of a mask (H, W) bool is set."""
    return np.count_nonzero(cv2.resize(mask.astype(np.float32), _BLOCKS, interpolation=cv2.INTER_AREA))


def _as_coloured(known: EmptyScene | None, image_bgr) -> tuple[EmptyScene | None, Light | None]:
    """A known scene as an image (H, W, 3) uint8 has colours or none, and the light of that against it; None
    where nothing is known, or not the colours."""
    if known is None:
        return None, None
    light = LightMeter(known.image_bgr).measure(image_bgr)
    if light.is_recoloured:
        known = known.in_grey()
        light = LightMeter(known.image_bgr).measure(image_bgr)
    return (None, None) if light.is_recoloured else (known, light)


def _is_another(light: Light) -> bool:
    """Whether a scene differs from the known one in its light, and is light enough to be brought to that."""
    is_other = light.tones is not None or np.abs(np.log(light.brightness)).max() > OTHER_LIGHT
    return is_other and light.brightness.min() >= DARKNESS


def _change_between(light: Light, former: Light) -> float:
    """By how much the channel that has changed most is brighter or darker, as a logarithm."""
    return np.abs(np.log(light.brightness / former.brightness)).max()


def _is_unsteady(light: Light, former: Light) -> bool:
    """Whether a light is not that of the look before: lamps flicker, or a camera hunts for its exposure."""
    rows = np.median(np.log(light.local / former.local), axis=1)
    return _change_between(light, former) > UNSTEADY_GAIN or np.sqrt(np.mean(rows**2)) > UNSTEADY_ROWS


def _is_noisy(light: Light) -> bool:
    return PER_NOISE * light.excess_noise > NOISY


class Segmenter:
    """Foreground of the frames of one camera, in order.

    Parameters
    ----------
    rate : float
        Frames per second that will be given to `apply`.
    roi : (H, W) bool
        Region of interest: changes are measured inside it.
    any_scene : bool
        See `MedianBackground`.
    known : EmptyScene, optional
        As the camera is known to show it: footage that shows another view from the beginning is of a camera
        that has moved. By default as it is first learnt, but of one moment.

    While the camera is in its place, and but for any scene, the known scene stays wherever it is still
    seen: who sits somewhere half of the time is no part of it, and a model counts in the scene in which it
    was trained (docs/decisions/2026-11-22-empty-scene.md).
    """

    def __init__(
        self, rate: float, roi: np.ndarray, any_scene: bool = False, known: EmptyScene | None = None
    ):
        self.roi = roi
        self._n_pixels = np.count_nonzero(roi)
        self._model = MedianBackground(rate, any_scene)
        self._home = None  # where the camera was before it moved: the model of that
        self._known, self._keeps_known, self._first = known, not any_scene, None
        #: Knows the view against which the camera is judged: the given one, or that of the first scene.
        self._watch = None if known is None else CameraWatch(known.image_bgr)
        self._light = None  # of the last look since the scene was learnt
        self._light_in_turn, self._is_unsteady = None, False  # of the last look that was not out of turn
        self._n_at_look = 0  # pixels that were foreground then
        self._recent, self._n_flickers = [], 0
        self._step = look_step(rate)
        self._learning_step = max(1, round(rate / 2))  # frames to learn from are half a second apart
        self._learning_for = "learning"
        self._odd_checks, self._moved, self._shaken = 0, False, False
        self._n_steady = 0  # pixels that were foreground when the camera was last not shaken
        self._n_frames = -1
        self._latest, self._rains = deque(maxlen=3), False
        self._rain_step = round(RAIN_CHECK_S * rate) if rate >= LOW_RATE_FPS else None
        self._n_blocks = _n_blocks_with(roi)

    @property
    def empty(self) -> EmptyScene | None:
        """The empty scene as last learnt; None before."""
        return self._model.empty

    @property
    def knows_scene(self) -> bool:
        """Whether an empty scene is known, to be seen where none is learnt yet."""
        return self._keeps_known and self._known is not None

    @property
    def first(self) -> EmptyScene | None:
        """The empty scene as first learnt, if not of one moment; the camera may have been moved since."""
        return self._first or self.empty

    @property
    def reference_bgr(self) -> np.ndarray | None:
        """The picture (H, W, 3) uint8 of that, against which the light is judged."""
        return None if self.empty is None else self.empty.image_bgr

    def learn(
        self, frames_bgr: Sequence[np.ndarray], length_s: float = 0.0, for_now: bool = False
    ) -> None:
        """Learn the empty scene from frames spread over the footage.

        Parameters
        ----------
        frames_bgr : sequence of (H, W, 3) uint8 arrays, at least one
            Black ones and the like are left out, unless all are. Of more than `LEARNING_FRAMES`, every
            second, third, … is used; of footage of day and night, those coloured like the first, or grey.
        length_s : float
            Seconds of footage that they are spread over, 0 where unknown; see `MedianBackground.learn`.
        for_now : bool
            They are of one moment, see there too.
        """
        frames_bgr = coloured_alike(showing_something(frames_bgr))
        if not for_now:
            frames_bgr = showing_one_view(frames_bgr)
        frames_bgr = frames_bgr[:: -(-len(frames_bgr) // LEARNING_FRAMES)]
        frames = np.stack(frames_bgr)
        for _ in range(2):  # the light differs between the frames: even it out, then look again
            meter = LightMeter(median_of(frames))
            for k, frame in enumerate(frames_bgr):
                frames[k] = meter.measure(frame).evened_out(frame)
        if self._watch is not None:
            self._moved = self._watch.shift(meter.reference_bgr) != (0.0, 0.0)
        if self._home is not None and not self._moved:
            self._return_home()
            return
        if self._home is None and self._moved and self.empty is not None:
            self._home, self._model = self._model, self._model.for_another_view()
        self._model.known = self._known if self._keeps_known and not self._moved else None
        self._model.learn(self._model.steadied(frames), length_s, for_now)
        self._light = self._light_in_turn = None
        if self._watch is None:
            self._watch = CameraWatch(self.reference_bgr)
        if self._first is None and not for_now:
            self._first = self.empty
            if self._known is None and self._keeps_known:
                self._known = self._model.known = self._first
        self._learning_for = None

    def _see_known(self, frame_bgr) -> None:
        """See the known scene until one is learnt, if a frame shows it, in colours if that has any."""
        known, _ = _as_coloured(self._known, frame_bgr)
        self._moved = self._watch.shift(frame_bgr) != (0.0, 0.0)
        if known is not None and not self._moved:
            self._model.known = self._known
            self._model.take(known)
            self._learning_for = None

    def _return_home(self) -> None:
        """See what was learnt before the camera moved."""
        self._home.n_frames = self._model.n_frames
        self._model, self._home = self._home, None
        self._light = self._light_in_turn = self._learning_for = None
        self._shaken = False

    def learns_anew(self, n_frames: int) -> bool:
        """Whether the scene just learnt is learnt anew within so many frames; if not, `resume` needs none."""
        return self._model.learns_anew(n_frames)

    def resume(self, n_frames: int, kept_bgr: Sequence[np.ndarray]) -> None:
        """Go on, in the scene just learnt, as if `n_frames` frames had been applied.

        Parameters
        ----------
        n_frames : int
        kept_bgr : sequence of (H, W, 3) uint8
            Those of them that `kept_frames` names.
        """
        self._model.resume(n_frames, len(kept_bgr))
        for frame in kept_bgr:
            self._keep(self._model.steady(frame))
        self._n_frames = n_frames - 1

    def apply(self, frame_bgr: np.ndarray) -> Foreground:
        """Segment the next (H, W, 3) uint8 frame."""
        self._n_frames += 1
        frame_bgr = self._without_rain(self._model.steady(frame_bgr))
        if shows_nothing(frame_bgr):  # a cable or a decoder failed: scene and light are as before
            if self.empty is not None and self._model.see():
                self._keep(frame_bgr)
            return Foreground(np.zeros(self.roi.shape, bool), self._flags(), self._light, frame_bgr)
        looking = self._n_frames % self._step == 0
        checking = self._n_frames % self._step == self._step // 2
        learning = self._n_frames % self._learning_step == 0
        if learning and self.empty is None and self.knows_scene:
            self._see_known(frame_bgr)
        if learning and self._learning_for:
            if self._learning_for != "learning" and self._is_in_another_light(frame_bgr):
                self._n_flickers += 1
                if self._n_flickers <= MOST_FLICKERS:
                    self._recent = []  # a lamp flickers, or they go out one by one
            self._recent.append(frame_bgr)
            if len(self._recent) == MIN_LEARNING_FRAMES:
                self.learn(self._recent, for_now=True)
                self._recent = []
                if self._n_flickers <= MOST_FLICKERS:
                    self._n_flickers = 0
        if self.reference_bgr is None:
            return Foreground(np.zeros(self.roi.shape, bool), self._flags(), None, frame_bgr)
        former = self._light
        if looking or former is None or self._is_unsteady or _is_noisy(former):  # a knock: for a moment
            self._light = self._light_of(frame_bgr)
        foreground, n_changed = self._segmented(frame_bgr, self._light)
        if self._light is former and self._has_doubled(n_changed, self._n_at_look):
            self._light = self._light_of(frame_bgr)
            foreground, n_changed = self._segmented(frame_bgr, self._light)
        if self._light is not former:
            self._n_at_look = n_changed
        if looking:
            if self._light_in_turn is not None:
                self._is_unsteady = _is_unsteady(self._light, self._light_in_turn)
            self._light_in_turn = self._light
        if self._model.see():
            self._keep(frame_bgr)
        self._shaken = self._is_shaken(frame_bgr, n_changed, checking)
        if not self._shaken:
            self._n_steady = n_changed
        if self._learning_for is None:
            if checking and self._camera_has_moved(frame_bgr):
                if self._home is not None and not self._moved:
                    self._return_home()
                    return self.apply_again(frame_bgr)
                self._learning_for = "camera_moved"
            elif not self._shaken and (
                self._light.is_recoloured
                or self._has_jumped(former)
                or n_changed > LIGHT_CHANGE_SHARE * self._n_pixels
            ):
                self._learning_for = "light_change"
        flags = self._flags() or (("noisy",) if _is_noisy(self._light) else ())
        return Foreground(foreground, flags, self._light, frame_bgr)

    def _flags(self) -> tuple[str, ...]:
        flags = {self._learning_for} if self._learning_for else set()
        if self._moved or self._shaken:
            flags.add("camera_moved")
        return tuple(sorted(flags))

    def apply_again(self, frame_bgr: np.ndarray) -> Foreground:
        """Segment another picture (H, W, 3) uint8 of the last frame, as if it had not been."""
        if self.reference_bgr is None:
            return Foreground(np.zeros(self.roi.shape, bool), ("learning",), None, frame_bgr)
        light = self._light_of(frame_bgr)
        return Foreground(self._segmented(frame_bgr, light)[0], (), light, frame_bgr)

    def mask_of(self, frame_bgr: np.ndarray) -> np.ndarray:
        """Foreground (H, W) bool of a (H, W, 3) uint8 frame between the last and the next, neither of which
        knows of it."""
        frame_bgr = self._model.steady(frame_bgr)
        if shows_nothing(frame_bgr):
            return np.zeros(self.roi.shape, bool)
        if self._rains:
            frame_bgr = middle_of(*list(self._latest)[1:], frame_bgr)
        return self.apply_again(frame_bgr).mask

    @property
    def sees_rain(self) -> bool:
        """Whether it rains or snows, as far as is known."""
        return self._rains

    def glimpse(self, frame_bgr: np.ndarray) -> None:
        """See a (H, W, 3) uint8 frame that is not applied, to tell people in the next one from rain."""
        self._latest.append(self._model.steady(frame_bgr))

    def _without_rain(self, frame_bgr) -> np.ndarray:
        """A frame, or where it rains or snows the median of it and the two before: people, who are wider than
        they walk in a frame, are where they were in the one between; a drop is in none of the others."""
        self._latest.append(frame_bgr)
        if self._rain_step is None or len(self._latest) < 3:
            return frame_bgr
        is_due = self._n_frames % self._rain_step == 2
        if not (is_due or self._rains):
            return frame_bgr
        lasting = middle_of(*self._latest)
        if is_due and self._light is not None:
            self._rains = self._is_rain(self._latest[1], lasting)
        return lasting if self._rains else frame_bgr

    def _is_rain(self, frame_bgr, lasting_bgr) -> bool:
        """Whether all over a frame there are specks that do not last; in a time lapse, nobody does."""
        seen, lasting = (self._segmented(image, self._light)[0] for image in (frame_bgr, lasting_bgr))
        fleeting = seen & (cv2.dilate(lasting.view(np.uint8), _LIMBS) == 0)
        _, blobs, statistics, _ = cv2.connectedComponentsWithStats(fleeting.view(np.uint8))
        areas = statistics[:, cv2.CC_STAT_AREA]
        is_drop = areas <= DROP_AREA
        is_drop[0] = False  # what is no blob
        is_mostly_drops = areas[is_drop].sum() > LEAST_DROPS * areas[1:].sum()
        return is_mostly_drops and _n_blocks_with(is_drop[blobs]) > RAIN_SHARE * self._n_blocks

    def _keep(self, frame_bgr) -> None:
        """Keep a frame for learning: in its own light, as `resume` does not know the last look's."""
        self._model.keep(self._light_of(frame_bgr).evened_out(frame_bgr))

    def _segmented(self, frame_bgr, light) -> tuple[np.ndarray, int]:
        """The foreground (H, W) bool in some light, and its number of pixels."""
        mask = cv2.medianBlur(self._model.segment(frame_bgr, light), 3)
        foreground = cv2.bitwise_and(mask, self.roi.view(np.uint8)).view(bool)
        return foreground, np.count_nonzero(foreground)

    def _light_of(self, frame_bgr) -> Light:
        return self._model.meter.measure(frame_bgr)

    def _has_jumped(self, former: Light | None) -> bool:
        """Whether a channel is much brighter or darker than it was in the light before."""
        if former is None or former is self._light:
            return False
        return _change_between(self._light, former) > np.log(LIGHT_CHANGE_GAIN)

    def _is_in_another_light(self, frame_bgr) -> bool:
        """Whether a frame is much brighter or darker than the last one to learn from, if there is one.

        In the dark, where the light cannot be evened out, the median would be of no moment's light.
        """
        if not self._recent:
            return False
        ratio = (frame_bgr.mean() + 1) / (self._recent[-1].mean() + 1)
        return abs(np.log(ratio)) > np.log(LIGHT_CHANGE_GAIN)

    def _has_doubled(self, n_changed: int, n_before: int) -> bool:
        """Whether twice as many pixels are foreground as before, and `UNSTEADY_SHARE` of the scene more."""
        return n_changed > 2 * n_before + UNSTEADY_SHARE * self._n_pixels

    def _is_shaken(self, frame_bgr, n_changed: int, checking: bool) -> bool:
        """Whether the image is shifted for the moment: the foreground has doubled since it was not, and the
        patches agree on a shift. They are looked at in the first such frame, and then once a second."""
        if not self._has_doubled(n_changed, self._n_steady):
            return False
        if self._shaken and not checking:
            return True
        return self._watch.shift(frame_bgr) not in ((0.0, 0.0), None)

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
