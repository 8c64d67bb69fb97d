"""Foreground: which pixels of a frame show something that does not belong to the empty scene.

`Segmenter` sees the background in the light of the moment, notices sudden changes of it and a moved camera,
and learns the background anew after either.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from .background import LEARNING_FRAMES, MIN_LEARNING_FRAMES, MedianBackground
from .camera import LEAST_SHARE, Registration, as_seen, showing_one_view
from .empty_scene import EmptyScene, as_coloured
from .focus import fine_detail
from .haze import without_haze
from .images import larger_of, median_of
from .light import (
    OTHER_FOCUS,
    Light,
    LightMeter,
    coloured_alike,
    showing_something,
    shows_nothing,
    telling,
)
from .lighting import LIGHT_CHANGE_GAIN, LightWatch, is_noisy
from .rain import RainWatch
from .view import ViewWatch

#: Changed share of the scene beyond which the light has changed, not the people moved.
LIGHT_CHANGE_SHARE = 0.6
#: Light and camera are looked at out of turn in a frame of which twice as much is foreground as before, and
#: this share of the scene more.
UNSTEADY_SHARE = 0.02
#: After a change of light the scene stays in which less than this share of the frames is foreground.
EXPLAINED_SHARE = 0.25
#: Learning waits for so many changes of light in a row to be over; a lamp that blinks on is learnt as it is.
MOST_FLICKERS = 8
#: Light and camera are looked at once a second, but not less often than once in so many frames.
LOOK_FRAMES = 10


@dataclass(frozen=True, eq=False)
class Foreground:
    """The foreground of one frame.

    Attributes
    ----------
    mask : (H, W) bool
        True where the frame shows something that the empty scene does not.
    flags : tuple of str
        "learning" (no background yet: the mask is empty), "light_change", "camera_moved", "shifted_back",
        "noisy".
    light : Light or None
        Of the frame, as last looked at; None while there is no background.
    image_bgr : (H, W, 3) uint8
        What it was found in: the frame, as the camera would show it in its place and with the scene in its
        first state; or in rain and snow the one before it without drops and flakes.
    scene_bgr : (H, W, 3) uint8 or None
        The empty scene in that light, the same array as long as both stay; None where nothing was sought.
    """

    mask: np.ndarray
    flags: tuple[str, ...]
    light: Light | None
    image_bgr: np.ndarray
    scene_bgr: np.ndarray | None = None


class Segmenter:
    """Foreground of the frames of one camera, in order.

    While the camera is in its place, and but for any scene, the known scene stays wherever it is still
    seen: who sits somewhere half of the time is no part of it, and a model counts in the scene in which it
    was trained (docs/decisions/2026-11-22-empty-scene.md).

    Frames of a camera that was moved a little are brought back to the view before, in which the mask is too:
    region, perspective and scene hold (docs/decisions/2026-11-27-registration.md).

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
    person_height : (H, W) float32, optional
        See `MedianBackground`.
    """

    def __init__(
        self,
        rate: float,
        roi: np.ndarray,
        any_scene: bool = False,
        known: EmptyScene | None = None,
        person_height: np.ndarray | None = None,
    ):
        self.roi = roi
        self._n_pixels = np.count_nonzero(roi)
        self._step = look_step(rate)
        self._learning_step = max(1, round(rate / 2))  # frames to learn from are half a second apart
        self._n_frames = -1
        self._model = MedianBackground(rate, any_scene, person_height)
        self._home = None  # where the camera was before it moved: the model of that
        self._known, self._keeps_known, self._first = known, not any_scene, None
        self._compared, self._is_learnt_recoloured = None, False  # an empty scene, and how it is to the known
        self._view = ViewWatch(roi, self._step, None if known is None else known.image_bgr)
        self._lighting = LightWatch()
        self._rain = RainWatch(rate, roi)
        self._learning_for = "learning"  # the flag of why the scene is learnt; None where it is not
        self._recent, self._n_flickers = [], 0
        # pixels that were foreground at the last look at the light, and when the camera was last not shaken
        self._n_at_look = self._n_steady = 0

    @property
    def empty(self) -> EmptyScene | None:
        """The empty scene as last learnt; None before."""
        return self._model.empty

    @property
    def knows_scene(self) -> bool:
        """Whether an empty scene is known, to be seen where none is learnt yet."""
        return self._keeps_known and self._known is not None

    @property
    def is_shifted(self) -> bool:
        """Whether the camera was moved, and frames are brought back."""
        return self._view.registration is not None

    @property
    def moved(self) -> np.ndarray | None:
        """`Registration.moved` of the frames that are brought back; None where none are."""
        return None if self._view.registration is None else self._view.registration.moved

    @property
    def is_recoloured(self) -> bool:
        """Whether the frame applied last is grey where the known scene has colours, as by infrared light, or
        the other way round; False where none is known, or the view is another."""
        light = self._lighting.light
        if self._known is None or light is None or self._view.is_moved:
            return False
        if self._compared is not self.empty:
            self._compared = self.empty
            self._is_learnt_recoloured = self._known.is_recoloured_in(self.reference_bgr)
        return self._is_learnt_recoloured != light.is_recoloured

    @property
    def sees_through_haze(self) -> bool:
        """Whether the frame applied last was behind haze, or of another contrast, against the empty scene."""
        light = self._lighting.light
        return light is not None and light.tones is not None

    @property
    def least_contrast(self) -> float:
        """See `Subtractor.least_contrast`."""
        return self._model.least_contrast

    @property
    def first(self) -> EmptyScene | None:
        """The empty scene as first learnt from frames of more than one moment; before that, as of a live
        source, whose first seconds are one, as last learnt. The camera may have been moved since."""
        return self._first or self.empty

    @property
    def reference_bgr(self) -> np.ndarray | None:
        """The picture (H, W, 3) uint8 of `empty`, against which the light is judged; None before."""
        return None if self.empty is None else self.empty.image_bgr

    def learn(
        self, frames_bgr: Sequence[np.ndarray], length_s: float = 0.0, for_now: bool = False
    ) -> None:
        """Learn the empty scene from frames spread over the footage.

        Parameters
        ----------
        frames_bgr : sequence of (H, W, 3) uint8 arrays, at least one
            Those are taken that are `telling`: of one light, not black, not repeated; of one moment all that
            are `coloured_alike`. Of more than `LEARNING_FRAMES`, every second, third, … is used.
        length_s : float
            Seconds of footage that they are spread over, 0 where unknown; see `MedianBackground.learn`.
        for_now : bool
            They are of one moment, see there too, and as a camera in its place would show them.
        """
        if for_now:
            frames_bgr = coloured_alike(showing_something(frames_bgr))
        else:
            frames_bgr = showing_one_view(telling(frames_bgr))
        frames_bgr = frames_bgr[:: -(-len(frames_bgr) // LEARNING_FRAMES)]
        if self._view.is_known and self.empty is None and not for_now:
            frames_bgr = self._in_known_view(frames_bgr)
        frames_bgr = without_haze(frames_bgr)
        frames, meter = _evened_out(frames_bgr)
        in_focus = _in_focus(frames, meter)
        if not in_focus.all():
            frames_bgr = [frame for frame, is_sharp in zip(frames_bgr, in_focus, strict=True) if is_sharp]
            frames, meter = _evened_out(frames_bgr)
        if self._view.is_known:
            self._view.judge(meter.reference_bgr)
        if self._home is not None and not self._view.is_moved:
            self._return_home()
            return
        if self._home is None and self._view.is_moved and self.empty is not None:
            self._home, self._model = self._model, self._model.for_another_view()
        self._model.known = self._known if self._keeps_known and not self._view.is_moved else None
        self._model.learn(self._model.steadied(frames), length_s, for_now)
        if self.empty.changing is not None:  # where its other states passed for another light
            frames = np.stack([self._light_of(frame).evened_out(frame) for frame in frames_bgr])
            self._model.learn(self._model.steadied(frames), length_s, for_now)
        self._lighting.forget()
        self._view.know(self.reference_bgr)
        if self._first is None and not for_now:
            self._first = self.empty
            if self._known is None and self._keeps_known:
                self._known = self._model.known = self._first
        self._learning_for = None

    def _in_known_view(self, frames_bgr) -> list[np.ndarray]:
        """The frames to learn the known view from: all if nearly all show it, and those that do where the
        camera is moved in the footage. If hardly any does, all, brought back from elsewhere if it is found.
        """
        shown = [frame for frame in frames_bgr if self._view.recognises(frame)]
        if len(shown) >= LEAST_SHARE * len(frames_bgr):
            return shown if len(shown) <= (1 - LEAST_SHARE) * len(frames_bgr) else frames_bgr
        self._follow(median_of(np.stack(frames_bgr)))
        return [self._view.brought_back(frame) for frame in frames_bgr]

    def _see_known(self, frame_bgr) -> None:
        """See the known scene until one is learnt, if a frame shows it, in colours if that has any."""
        known, _ = as_coloured(self._known, frame_bgr)
        self._view.judge(frame_bgr)
        if known is not None and not self._view.is_moved:
            self._model.known = self._known
            self._model.take(known)
            self._model.learn_soon()
            self._loosen()
            self._learning_for = None

    def _follow(self, frame_bgr, is_far: bool = False) -> bool:
        """See `ViewWatch.follow`; `is_far`: from the frames before."""
        found = self._view.follow(frame_bgr, None if is_far else self._n_frames, self._model.steady)
        if found:
            self._loosen()
        return found

    def _loosen(self) -> None:
        """Compare frames as it befits where they are brought back from, or that they are not."""
        if self.empty is not None:
            self._model.subtractor.loosen(self.is_shifted)

    def _steady(self, frame_bgr) -> np.ndarray:
        """A frame as a camera in its place would show it, that neither was moved nor sways."""
        return self._model.steady(self._view.brought_back(frame_bgr))

    def _return_home(self) -> None:
        """See what was learnt before the camera moved."""
        self._home.n_frames = self._model.n_frames
        self._model, self._home = self._home, None
        self._lighting.forget()
        self._learning_for, self._view.is_shaken = None, False

    def expect(self, is_coarse: bool, step: float | np.ndarray) -> None:
        """Learn from now on as of such frames, see `is_coarse` and `step` of `MedianBackground`."""
        self._model.is_coarse, self._model.step = is_coarse, step

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
            self._follow_far(frame)
            self._keep(self._steady(frame))
        self._n_frames = n_frames - 1

    def in_place(self, frame_bgr: np.ndarray) -> tuple[np.ndarray, Registration | None] | None:
        """A (H, W, 3) uint8 frame of any time as a camera in its place would show it, and where it was found
        to show the view (None: in its place); None for a frame of another view. It is not applied."""
        self._follow_far(frame_bgr)
        if not self._view.recognises(self._steady(frame_bgr)):
            return None
        return self._view.brought_back(frame_bgr), self._view.registration

    def _follow_far(self, frame_bgr) -> None:
        """`_follow` the view of a camera that was not moved away in a frame far from those before it."""
        if not self._view.is_moved:
            self._follow(frame_bgr, is_far=True)

    def apply(self, frame_bgr: np.ndarray) -> Foreground:
        """Segment the next (H, W, 3) uint8 frame."""
        self._n_frames += 1
        former = self._lighting.light
        mask_of = None if former is None else lambda image: self._segmented(image, former).mask
        as_it_is = frame_bgr
        frame_bgr = self._rain.without_drops(self._steady(frame_bgr), self._n_frames, mask_of)
        if shows_nothing(frame_bgr):  # a cable or a decoder failed: scene and light are as before
            if self.empty is not None and self._model.see():
                self._keep(frame_bgr)
            return Foreground(np.zeros(self.roi.shape, bool), self._flags(), former, frame_bgr)
        looking = self._n_frames % self._step == 0
        checking = self._n_frames % self._step == self._step // 2
        if self._n_frames % self._learning_step == 0:
            if self.empty is None and self._view.is_known:
                frame_bgr = self._in_known_place(as_it_is, frame_bgr)
            if self._learning_for:
                self._gather(frame_bgr)
        if self.empty is None:
            return Foreground(np.zeros(self.roi.shape, bool), self._flags(), None, frame_bgr)
        former = self._lighting.light
        found = self._segmented_in_its_light(frame_bgr, looking)
        n_changed, light = np.count_nonzero(found.mask), self._lighting.light
        if self._model.see():
            self._keep(frame_bgr)
        has_doubled = self._has_doubled(n_changed, self._n_steady)
        self._view.look_for_shake(frame_bgr, has_doubled, checking)
        if not self._view.is_shaken:
            self._n_steady = n_changed
        if self._learning_for is None:
            if checking and self._view.has_turned(frame_bgr):
                if self._home is not None and not self._view.is_moved:
                    self._return_home()
                    return self.apply_again(frame_bgr)
                self._learning_for = "camera_moved"
                self._view.registration = None
                self._loosen()
            elif (has_doubled or self._view.is_in_doubt) and self._follow(as_it_is):
                return self._applied_anew(as_it_is, n_changed)
            elif not self._view.is_shaken and self._light_has_changed(former, n_changed):
                self._learning_for = "light_change"
        return replace(found, flags=self._flags() or (("noisy",) if is_noisy(light) else ()))

    def _in_known_place(self, as_it_is, frame_bgr) -> np.ndarray:
        """A frame where the known view is found, as it is and as it was steadied before; and the known scene
        seen from now on if it shows that."""
        if self._follow(as_it_is):
            frame_bgr = self._steady(as_it_is)
        if self.knows_scene:
            self._see_known(frame_bgr)
        return frame_bgr

    def _light_has_changed(self, former: Light | None, n_changed: int) -> bool:
        """Whether the scene is to be learnt in another light, in a frame of which so many pixels are
        foreground, that comes after another."""
        light = self._lighting.light
        return (
            light.is_recoloured
            or light.is_sharper
            or self._lighting.has_jumped(former)
            or n_changed > LIGHT_CHANGE_SHARE * self._n_pixels
        )

    def _gather(self, frame_bgr) -> None:
        """Take one more frame to learn from; learn of enough, unless they show the scene in another light."""
        if self._learning_for != "learning" and self._is_in_another_light(frame_bgr):
            self._n_flickers += 1
            if self._n_flickers <= MOST_FLICKERS:
                self._recent = []  # a lamp flickers, or they go out one by one
        self._recent.append(frame_bgr)
        if len(self._recent) < MIN_LEARNING_FRAMES:
            return
        if self._learning_for == "light_change" and self._explains(self._recent):
            self._lighting.forget()
            self._learning_for = None
        else:
            self.learn(self._recent, for_now=True)
        self._recent = []
        if self._n_flickers <= MOST_FLICKERS:
            self._n_flickers = 0

    def _flags(self) -> tuple[str, ...]:
        flags = {self._learning_for} if self._learning_for else set()
        if self._view.is_moved or self._view.is_shaken:
            flags.add("camera_moved")
        elif self.is_shifted:
            flags.add("shifted_back")
        return tuple(sorted(flags))

    def _applied_anew(self, frame_bgr, n_before: int) -> Foreground:
        """Segment the last frame, of which so many pixels were foreground, brought back from where the view
        is now. A scene that was learnt on the way there, or of another view, is learnt anew."""
        if self._home is not None:
            self._return_home()
            self._loosen()
        elif self._view.is_moved:
            self._learning_for = "camera_moved"
        self._view.take_as_found()
        frame_bgr = self._steady(frame_bgr)
        light = self._light_of(frame_bgr)
        self._lighting.start(light)
        found = self._segmented(frame_bgr, light)
        self._n_at_look = self._n_steady = np.count_nonzero(found.mask)
        if self._has_doubled(self._n_steady, n_before):
            self._learning_for = "camera_moved"
        return replace(found, flags=self._flags())

    def evened_out(self, frame_bgr: np.ndarray, light: Light) -> np.ndarray:
        """A frame (H, W, 3) uint8 in some light as it were in the empty scene's, which is where the view is
        out of the picture."""
        evened = light.evened_out(frame_bgr)
        if self.is_shifted and not self._view.is_moved:
            np.copyto(evened, self.reference_bgr, where=~self._view.registration.in_view[..., None])
        return evened

    def as_seen(self, mask: np.ndarray) -> np.ndarray:
        """A mask (H, W) bool of the last frame where it is in that, had the camera been moved or swayed."""
        return as_seen(self._model.as_seen(mask), self.moved)

    def apply_again(self, frame_bgr: np.ndarray) -> Foreground:
        """Segment another picture (H, W, 3) uint8 of the last frame, in its own light and without flags but
        "learning". The next frame is segmented as if this had not been."""
        if self.empty is None:
            return Foreground(np.zeros(self.roi.shape, bool), ("learning",), None, frame_bgr)
        return self._segmented(frame_bgr, self._light_of(frame_bgr))

    def in_between(self, frame_bgr: np.ndarray) -> Foreground:
        """Segment a (H, W, 3) uint8 frame between the last and the next, which is segmented as if this had
        not been."""
        frame_bgr = self._steady(frame_bgr)
        if shows_nothing(frame_bgr):
            return Foreground(np.zeros(self.roi.shape, bool), (), None, frame_bgr)
        return self.apply_again(self._rain.in_between(frame_bgr))

    @property
    def sees_rain(self) -> bool:
        """Whether it rains or snows, as far as is known."""
        return self._rain.rains

    def glimpse(self, frame_bgr: np.ndarray) -> None:
        """See a (H, W, 3) uint8 frame that is not applied, to tell people in the next one from rain."""
        self._rain.glimpse(self._steady(frame_bgr))

    def _keep(self, frame_bgr) -> None:
        """Keep a frame for learning: in its own light, as `resume` does not know the last look's."""
        self._model.keep(self.evened_out(frame_bgr, self._light_of(frame_bgr)))

    def _segmented(self, frame_bgr, light) -> Foreground:
        """The foreground in some light, without flags."""
        mask, seen_bgr = self._model.segment(frame_bgr, light)
        foreground = cv2.bitwise_and(cv2.medianBlur(mask, 3), self.roi.view(np.uint8)).view(bool)
        if self.is_shifted:
            foreground &= self._view.registration.in_view
        return Foreground(foreground, (), light, seen_bgr, self._model.subtractor.lit_bgr)

    def _segmented_in_its_light(self, frame_bgr, looking: bool) -> Foreground:
        """`_segmented` in the light as last looked at: now, where it is the turn, or it may be another."""
        lighting, former = self._lighting, self._lighting.light
        if looking or lighting.is_due:
            lighting.light = self._light_of(frame_bgr)
        found = self._segmented(frame_bgr, lighting.light)
        if lighting.light is former and self._has_doubled(np.count_nonzero(found.mask), self._n_at_look):
            lighting.light = self._light_of(frame_bgr)
            found = self._segmented(frame_bgr, lighting.light)
        if lighting.light is not former:
            self._n_at_look = np.count_nonzero(found.mask)
        if looking:
            lighting.take_turn()
        return found

    def _light_of(self, frame_bgr) -> Light:
        return self._model.subtractor.meter.measure(frame_bgr)

    def _is_in_another_light(self, frame_bgr) -> bool:
        """Whether a frame is much brighter or darker than the last one to learn from, if there is one.

        In the dark, where the light cannot be evened out, the median would be of no moment's light.
        """
        if not self._recent:
            return False
        ratio = (frame_bgr.mean() + 1) / (self._recent[-1].mean() + 1)
        return abs(np.log(ratio)) > np.log(LIGHT_CHANGE_GAIN)

    def _explains(self, frames_bgr) -> bool:
        """Whether frames, each in its own light, show the scene as it is and little else: from these alone,
        whoever stands there would be learnt too."""
        lights = [self._light_of(frame) for frame in frames_bgr]
        if any(light.is_sharper or is_noisy(light) for light in lights):
            return False
        if np.mean([light.is_recoloured for light in lights]) > 0.5:  # in haze, hardly any colour is left
            return False
        found = map(self._segmented, frames_bgr, lights)
        n_changed = np.median([np.count_nonzero(each.mask) for each in found])
        return n_changed < EXPLAINED_SHARE * self._n_pixels

    def _has_doubled(self, n_changed: int, n_before: int) -> bool:
        """Whether twice as many pixels are foreground as before, and `UNSTEADY_SHARE` of the scene more."""
        return n_changed > 2 * n_before + UNSTEADY_SHARE * self._n_pixels


def _evened_out(frames_bgr) -> tuple[np.ndarray, LightMeter]:
    """Frames (n, H, W, 3) uint8 in the light of their median, and the meter of that."""
    frames = np.stack(frames_bgr)
    for _ in range(2):  # the light differs between the frames: even it out, then look again
        meter = LightMeter(median_of(frames))
        for k, frame in enumerate(frames_bgr):
            frames[k] = meter.measure(frame).evened_out(frame)
    return frames, meter


def _in_focus(frames, meter) -> np.ndarray:
    """(n,) bool: which of frames in one light are sharp, where some are and others are not; else all. In a
    camera that sways the edges of the scene are weaker too, but not all edges."""
    sharpness = np.array([max(1e-3, meter.focus.sharpness(frame)) for frame in frames])
    is_sharp = larger_of(sharpness, OTHER_FOCUS)
    if is_sharp is not None and np.count_nonzero(is_sharp) >= MIN_LEARNING_FRAMES:
        detail = np.array([fine_detail(frame) for frame in frames])
        if np.median(detail[is_sharp]) > OTHER_FOCUS * np.median(detail[~is_sharp]):
            return is_sharp
    return np.ones(len(frames), bool)


def look_step(rate: float) -> int:
    """Of so many frames, at `rate` per second, `Segmenter` looks at one's light and at another's view."""
    return max(1, min(round(rate), LOOK_FRAMES))
