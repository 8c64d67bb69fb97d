"""The empty scene: what a camera shows where nobody is, and what of it is known or told from passers-by."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from .camera import CameraWatch
from .images import largest_difference, narrowest_of
from .light import Light, LightMeter
from .shadows import Shade, is_shadow

#: The threshold where nothing is foreground, such as films and running clocks.
NOTHING = 255
#: Where the noise is larger than this, grey levels, the median of the frames may be that of passers-by.
RESTLESS = 8.0
#: A pixel is foreground beyond so many standard deviations of its noise, in a model of one camera.
DEVIATIONS = 3.5
#: What hides the known scene in all frames is somebody, not something that was put there, where more than
#: this share of it, within a square of so many pixels around, is restless and was not in the known scene.
RESTLESS_SHARE, _RESTLESS_AROUND = 0.1, (31, 31)
#: Brightness on a scale of ratios, above what a dark pixel has of noise.
_BRIGHTNESS = np.round(255 * np.log1p(np.arange(256) / 30) / np.log1p(255 / 30)).astype(np.uint8)
#: The empty scene is seen where whole pieces of this size differ from it by so many grey levels at the most.
_PIECE, _SEEN_WITHIN = np.ones((5, 5), np.uint8), 15
#: Pixels whose frames are compared at a time: what is computed for them takes little memory.
_AT_A_TIME = 1 << 12


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
    others_bgr : sequence of (H, W, 3) uint8
        The scene in its other states, see `features.states`.
    shade : Shade or None
        What wanders over it, see `features.shade`; of the footage at hand alone. None: nothing.
    films : (H, W) bool or None
        Where they are shown, see `features.films`, and nothing is foreground; of the footage at hand alone.
        None: nobody looked for them.
    """

    image_bgr: np.ndarray
    threshold: np.ndarray
    is_proven: np.ndarray | None = None
    others_bgr: Sequence[np.ndarray] = ()
    shade: Shade | None = None
    films: np.ndarray | None = None

    @cached_property
    def changing(self) -> np.ndarray | None:
        """(H, W) bool: where it has several states, shade wanders or films are shown; None: nowhere."""
        changing = [(other != self.image_bgr).any(axis=2) for other in self.others_bgr]
        if self.shade is not None:
            changing.append(self.shade.where)
        if self.films is not None and self.films.any():
            changing.append(self.films)
        return np.any(changing, axis=0) if changing else None

    def resized(self, size_wh: tuple[int, int]) -> "EmptyScene":
        """The same in a picture of another size."""
        proven = self.is_proven
        if proven is not None:
            proven = cv2.resize(proven.view(np.uint8), size_wh, interpolation=cv2.INTER_NEAREST).view(bool)
        image, threshold, *others = (
            cv2.resize(one, size_wh) for one in (self.image_bgr, self.threshold, *self.others_bgr)
        )
        return EmptyScene(image, threshold, proven, others)

    def light_of(self, image_bgr: np.ndarray) -> Light:
        """The light of an image (H, W, 3) uint8 against it."""
        return self._meter.measure(image_bgr)

    @cached_property
    def _meter(self) -> LightMeter:
        return LightMeter(self.image_bgr, leave_out=self.changing)

    def is_shown_in(self, image_bgr: np.ndarray) -> bool:
        """Whether an image (H, W, 3) uint8 of any size is of this view, people or not; True where the scene
        has too little texture to tell."""
        height, width = self.image_bgr.shape[:2]
        return CameraWatch(self.image_bgr).recognises(cv2.resize(image_bgr, (width, height)))

    def is_recoloured_in(self, image_bgr: np.ndarray) -> bool:
        """Whether an image (H, W, 3) uint8 of any size is grey where this scene has colours, as by infrared
        light, or the other way round."""
        height, width = self.image_bgr.shape[:2]
        return self.light_of(cv2.resize(image_bgr, (width, height))).is_recoloured

    def in_grey(self) -> "EmptyScene":
        """The same without its colours."""
        grey, *others = (
            cv2.merge([cv2.cvtColor(one, cv2.COLOR_BGR2GRAY)] * 3)
            for one in (self.image_bgr, *self.others_bgr)
        )
        return EmptyScene(grey, self.threshold, self.is_proven, others)


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
    few minutes they are people, who stand or follow each other, while a car or a bench is still. States are
    those of the latest, or if it has none the known ones.

    Parameters
    ----------
    known, empty : EmptyScene
        As it was, and as it has just been learnt.
    frames : (n, H, W, 3) uint8
        In the light of `empty`, of which that was learnt.
    """
    light = known.light_of(empty.image_bgr)
    image = light.cast_on(known.image_bgr)
    is_known = _is_seen(image, frames)
    is_shade = is_shadow(image.reshape(-1, 3), empty.image_bgr.reshape(-1, 3)).reshape(is_known.shape)
    differs = differing(image, empty.image_bgr)
    is_hidden = differs & ~is_shade & (is_known | _hidden_by_people(differs, known, empty))
    if empty.films is not None:
        is_hidden &= ~empty.films
    if known.is_proven is not None:
        is_hidden |= known.is_proven
    seen = np.where(is_hidden[..., None], image, empty.image_bgr)
    threshold = np.where(is_hidden, known.threshold, empty.threshold)
    states, changing = (), None
    if len(empty.others_bgr):
        states, changing = (empty.image_bgr, *empty.others_bgr), empty.changing
    elif len(known.others_bgr):  # in all of the frames it may be in the second of them, or the third
        states, changing = [image, *(light.cast_on(other) for other in known.others_bgr)], known.changing
    others = [np.where(changing[..., None], state, seen) for state in states]
    return EmptyScene(seen, threshold, known.is_proven, others, films=empty.films)


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


def as_coloured(known: EmptyScene | None, image_bgr) -> tuple[EmptyScene | None, Light | None]:
    """A known scene as an image (H, W, 3) uint8 has colours or none, and the light of that against it; None
    where nothing is known, or not the colours."""
    if known is None:
        return None, None
    light = known.light_of(image_bgr)
    if light.is_recoloured:
        known = known.in_grey()
        light = known.light_of(image_bgr)
    return (None, None) if light.is_recoloured else (known, light)
