"""The empty scene: what a camera shows where nobody is, learnt from frames with people.

It is the per-pixel median of frames spread over the footage with a per-pixel noise level
(`MedianBackground`), so that people who stand still from the first frame on are foreground; for counts in any
scene, where crowds pass, it is what is seen between them (`settle`). In long footage it is learnt anew from
the last twenty minutes now and then, never updated frame by frame: on Mall the leak of half-detected people
into a running average cost a third of the accuracy, and an adaptive mixture of Gaussians (Zivkovic 2004)
costs far more time and counts no better (docs/decisions/2026-11-20-speed.md).
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import cv2
import numpy as np

from .captions import captions
from .empty_scene import DEVIATIONS, NOTHING, RESTLESS, EmptyScene, as_coloured, settle, still_seen
from .films import films
from .ghosts import behind_ghosts, without_ghosts
from .images import median_of, noise_of
from .light import Light, shows_nothing
from .parts import PART_FRAMES, parts_of
from .shade import LitScene, lit_scene
from .standing import LEAST_S, never_at_rest
from .states import other_states
from .steadying import Steadier
from .subtraction import LEAST_STEPS, Subtractor

#: A person who stands still melts into the background after about this time, seconds.
ABSORPTION_S = 600.0
#: A background is learnt from this many frames at the most, at the least this many.
LEARNING_FRAMES, MIN_LEARNING_FRAMES = 60, 8
#: Frames to learn soon from are kept up to so many times as often, a power of two.
_DENSEST = 16
#: Footage of up to this length is seen to its end in the scene that was learnt from all of it, seconds: fine
#: detail drifts, and from an earlier scene frames differ more (docs/decisions/2026-11-22-empty-scene.md).
ONE_SCENE_S = 3600.0
#: A scene is learnt in the light of the known one, whose changes a model knows, where it is brighter or
#: darker by more than this share; but not where so little is left of the light that it is mostly noise.
OTHER_LIGHT, DARKNESS = 0.1, 1 / 7
#: Half a window: frames that are kept between one learning and the next, and the fewest that tell the states
#: of what changes to and fro.
_HALF = LEARNING_FRAMES // 2
#: Of fewer frames who stands all the time is not told from what sways.
_FEWEST_STANDING = 12


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
    person_height : (H, W) float32, optional
        Pixels: look for other states of the scene, see `other_states`, in half a window of frames or more.

    Attributes
    ----------
    subtractor : Subtractor or None
        Compares frames with the empty scene as last learnt; None before.
    known : EmptyScene or None
        Stays wherever it is still seen when the scene is learnt anew, see `still_seen`; that is learnt in its
        light.
    is_coarse : bool
        Whether the frames to learn from are coded coarsely, see `noise_of`: counts in any scene gain where it
        is allowed for (docs/decisions/2026-11-29-coarse.md).
    step : float or (H, 1) float64
        To how many grey levels one has grown of what was decoded, as where haze is taken away.
    n_frames : int
        Frames seen so far: each `window_step`-th is kept, or more of them for a while (see `learn_soon`).
    least_contrast : float
        `Subtractor.least_contrast` in the light in which a frame was segmented last; 0 before.
    """

    def __init__(self, rate: float, any_scene: bool = False, person_height: np.ndarray | None = None):
        self._rate, self._any_scene, self._person_height = rate, any_scene, person_height
        # a pixel is foreground beyond so many standard deviations of its noise, at least so many grey levels
        self._deviations, self._least = (3.0, 8) if any_scene else (DEVIATIONS, 10)
        self._window = deque(maxlen=LEARNING_FRAMES)
        self._window_step, self._density = window_step(rate), 1
        self._n_kept, self._due = 0, LEARNING_FRAMES  # since it was learnt of other frames; the next time
        self.subtractor = self.known = self._steadier = self._standing = None
        self.is_coarse, self.step = False, 1.0
        self.n_frames, self.least_contrast = 0, 0.0

    @property
    def empty(self) -> EmptyScene | None:
        """The empty scene as last learnt; None before."""
        return None if self.subtractor is None else self.subtractor.empty

    def steadied(self, frames: np.ndarray) -> np.ndarray:
        """Frames (n, H, W, 3) uint8 to learn from, each in the place of those that were the first."""
        if self._steadier is None:
            self._steadier = Steadier(frames)
        if not self._steadier.is_needed:  # no second copy of them all
            return frames
        return np.stack([self.steady(frame) for frame in frames])

    def steady(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A frame (H, W, 3) uint8 in the place of those that were learnt first, if the camera sways.

        What became of thin things as it was reduced depends on where they were, but little once blurred.
        """
        if self._steadier is None or not self._steadier.is_needed:
            return frame_bgr
        return cv2.GaussianBlur(self._steadier.steady(frame_bgr), (3, 3), 0)

    def as_seen(self, mask: np.ndarray) -> np.ndarray:
        """A mask (H, W) bool of the frame that was brought into its place last, where it was before."""
        return mask if self._steadier is None else self._steadier.as_seen(mask)

    def learn(self, frames: np.ndarray, length_s: float = 0.0, for_now: bool = False) -> None:
        """Learn the empty scene; frames that were kept before are forgotten.

        Parameters
        ----------
        frames : (n, H, W, 3) uint8
            Of comparable brightness.
        length_s : float
            Seconds of footage that they are spread over, and that begins now; 0 where unknown. Up to
            `ONE_SCENE_S`, the scene of a model of one camera is not learnt anew before the end of it.
        for_now : bool
            The frames are of one moment, so that who stands in them leaves a ghost behind later: the scene is
            learnt anew soon.
        """
        self._window.clear()
        self._n_kept = 0
        self._due, self._density = LEARNING_FRAMES, 1
        if for_now:
            self.learn_soon()
        if length_s <= ONE_SCENE_S and not self._any_scene:
            n_halves = math.ceil(length_s * self._rate / (self._window_step * _HALF))
            self._due = max(self._due, n_halves * _HALF)
        self._learn(frames, length_s)

    def learn_soon(self) -> None:
        """Learn the scene anew of what comes now.

        Frames are kept up to `_DENSEST` times as often, and each time that they fill the window every other
        one is dropped and half as many are kept from then on, down to the usual. It is learnt from twice
        `MIN_LEARNING_FRAMES` of them, and each time that they are of twice as long.
        """
        self._due = 2 * MIN_LEARNING_FRAMES
        self._density = min(_DENSEST, 1 << self._window_step.bit_length() - 1)

    def _learn(self, frames, length_s: float = 0.0, former: EmptyScene | None = None) -> None:
        image = median_of(frames)
        known, light = as_coloured(self.known, image)
        if known is not None and _is_another(light):
            frames = np.stack([light.evened_out(frame) for frame in frames])
            image = median_of(frames)
        lit, is_long = None, not 0 < length_s < LEAST_S
        if self._any_scene and is_long:
            lit = lit_scene(image, parts_of(frames), _lit(former))
        if lit is not None:
            image, frames = lit.image_bgr, lit.without_shade(frames)
        is_coarse = self._any_scene and self.is_coarse
        noise = noise_of(frames, image, is_coarse)
        restless = np.flatnonzero(noise > RESTLESS)
        if self._any_scene and len(restless) and len(frames) >= MIN_LEARNING_FRAMES:
            settle(image, frames, restless)
            noise = noise_of(frames, image, is_coarse)
        others = ()
        if self._person_height is not None and len(frames) >= _HALF:
            others = other_states(frames, image, noise, self._person_height)
        threshold = self._threshold_for(noise)
        standing, screens = None, films(frames, image)
        threshold[screens] = NOTHING
        if self._any_scene:
            threshold[captions(frames, image)] = NOTHING
            if self._person_height is not None and len(frames) >= _FEWEST_STANDING:
                standing, threshold = never_at_rest(frames, image, threshold, self._person_height, length_s)
        shade = None if lit is None else lit.shade
        empty = EmptyScene(image, threshold, others_bgr=others, shade=shade, films=screens)
        if self._any_scene and self._person_height is not None and is_long:
            empty, ghosts = self._seen_behind(empty, frames, former)
            standing = None if standing is None else without_ghosts(standing, ghosts)
        self.take(empty if known is None else still_seen(known, empty, frames), frames, standing)

    def _seen_behind(self, empty, frames, former) -> tuple[EmptyScene, np.ndarray]:
        """An empty scene with what is behind its ghosts, by the frames and the former scene, and where these
        are, (H, W) bool."""
        before = None if former is None else (former.image_bgr, former.threshold / self._deviations)
        ghosts, behind, noise = behind_ghosts(frames, empty.image_bgr, self._person_height, before)
        for one in (empty, former or empty):
            ghosts &= one.threshold < NOTHING
            if one.changing is not None:
                ghosts &= ~one.changing
        if not ghosts.any():
            return empty, ghosts
        images = empty.image_bgr, *empty.others_bgr
        image, *others = (np.where(ghosts[..., None], behind, one) for one in images)
        threshold = np.where(ghosts, self._threshold_for(noise), empty.threshold)
        return replace(empty, image_bgr=image, threshold=threshold, others_bgr=others), ghosts

    def _threshold_for(self, noise) -> np.ndarray:
        """(H, W) uint8: by how many grey levels a pixel with some noise, (H, W), must differ."""
        least = np.maximum(self._least, LEAST_STEPS * self.step)
        return np.clip(self._deviations * noise, least, 80).astype(np.uint8)

    def take(
        self, empty: EmptyScene, frames: Iterable[np.ndarray] = (), standing: np.ndarray | None = None
    ) -> None:
        """Compare frames with this empty scene from now on.

        Parameters
        ----------
        empty : EmptyScene
        frames : iterable of (H, W, 3) uint8
            Their noise and colours are the usual ones, see `LightMeter`.
        standing : (H, W) bool, optional
            Where people stand all the time: foreground in every frame.
        """
        self.subtractor = Subtractor(empty, frames, self._any_scene)
        if standing is not None and empty.shade is not None:  # that of leaves looks like who sways
            standing = without_ghosts(standing, empty.shade.where)
        self._standing = standing

    def for_another_view(self) -> "MedianBackground":
        """One that has learnt nothing, but has seen as many frames."""
        other = MedianBackground(self._rate, self._any_scene, self._person_height)
        other.n_frames, other.is_coarse, other.step = self.n_frames, self.is_coarse, self.step
        return other

    def resume(self, n_frames: int, n_kept: int) -> None:
        """Go on as if `n_frames` frames had been seen; the last `n_kept` of those that are kept of them are
        still to be given to `keep`."""
        self.n_frames = n_frames
        self._n_kept = n_frames // self._window_step - n_kept
        self._due = max(self._due, self._n_kept + LEARNING_FRAMES)

    def learns_anew(self, n_frames: int) -> bool:
        """Whether the scene just learnt, before any frame was seen, is learnt anew within so many frames."""
        return n_frames // self._window_step >= self._due

    def see(self) -> bool:
        """Count one more frame; whether it is its turn to be kept for learning."""
        self.n_frames += 1
        return self.n_frames * self._density % self._window_step < self._density

    def keep(self, evened_bgr: np.ndarray) -> None:
        """Put an evened (H, W, 3) uint8 frame into the window, and learn from that when it is due.

        Frames that show nothing, as black ones, take their places in the window, but are not learnt from.
        """
        self._window.append(evened_bgr)
        self._n_kept += 1
        if self._n_kept < self._due:
            self._follow_shade()
            return
        shown = [frame for frame in self._window if not shows_nothing(frame)]
        if len(shown) >= MIN_LEARNING_FRAMES:  # the signal may be lost for hours
            self._learn(np.stack(shown), former=self.empty)
        if len(self._window) < LEARNING_FRAMES:
            self._due = min(2 * self._due, LEARNING_FRAMES)
        elif self._density > 1:
            self._density //= 2
            self._window = deque(list(self._window)[1::2], maxlen=LEARNING_FRAMES)
            self._n_kept = _HALF
        else:
            self._due += _HALF

    def _follow_shade(self) -> None:
        """See where the shade that wanders has come to, by the last frames that were kept."""
        before = _lit(self.empty)
        if before is None or len(self._window) < PART_FRAMES:
            return
        lit = before.widened(np.stack(list(self._window)[-PART_FRAMES:]))
        if lit is not before:
            empty = replace(self.empty, image_bgr=lit.image_bgr, shade=lit.shade)
            self.take(empty, self._window, self._standing)

    def segment(self, frame_bgr: np.ndarray, light: Light) -> tuple[np.ndarray, np.ndarray]:
        """See `Subtractor.segment`, of a frame in its place; who stands all the time is foreground."""
        mask, seen_bgr = self.subtractor.segment(frame_bgr, light)
        self.least_contrast = self.subtractor.least_contrast
        if self._steadier is not None:
            self._steadier.cut(mask)  # people would be seen to come through the picture's edge
        if self._standing is not None:
            mask[self._standing] = 1
        return mask, seen_bgr


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


def _lit(empty: EmptyScene | None) -> LitScene | None:
    """An empty scene as it is lit, if shade wanders over it."""
    return None if empty is None or empty.shade is None else LitScene(empty.image_bgr, empty.shade)


def _is_another(light: Light) -> bool:
    """Whether a scene differs from the known one in its light, and is light enough to be brought to that."""
    is_other = light.tones is not None or np.abs(np.log(light.brightness)).max() > OTHER_LIGHT
    return is_other and light.brightness.min() >= DARKNESS
