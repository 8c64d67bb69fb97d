"""Background subtraction: what of a frame, in its light, does not belong to the empty scene."""

from collections.abc import Iterable

import cv2
import numpy as np

from .empty_scene import NOTHING, EmptyScene
from .images import largest_channel
from .light import Light, LightMeter
from .shadows import IN_GREY, SHADOW, Depth, is_shadow_at
from .tones import SATURATED

#: No pixel is foreground within so many steps of what was decoded, see `MedianBackground.step`: the noise
#: that is learnt can be less than one.
LEAST_STEPS = 5
#: What noise adds to a difference from the empty scene: so many times its excess over the usual one.
PER_NOISE = 6.0
#: So much of the way to its darkest and its brightest neighbour is a pixel no foreground in any scene, and so
#: much farther in frames that are shifted back.
_LEEWAY, _SHIFTED_LEEWAY = 0.2, 0.3
#: What is saturated may be any brighter than white: in less light it can still be white. So may the channels
#: beside one that is saturated be which are that bright: coding spreads colours over their neighbours.
_BEYOND_WHITE, _NEARLY_WHITE = 5 * 255, 240
_NEIGHBOURS = np.ones((3, 3), np.uint8)
#: Of so many rows and columns one is looked at to tell how clearly people stand out.
_EACH = 4


class Subtractor:
    """Compares frames with one empty scene, which is brought to their light.

    Parameters
    ----------
    empty : EmptyScene
    frames : iterable of (H, W, 3) uint8
        Their noise and colours are the usual ones, see `LightMeter`.
    any_scene : bool
        See `MedianBackground`.

    Attributes
    ----------
    meter : LightMeter
        Of the empty scene.
    lit_bgr : (H, W, 3) uint8
        The empty scene in the light in which a frame was segmented last.
    least_contrast : float
        By what share of its brightness half of the scene must differ, or more, to be foreground, in the light
        in which a frame was segmented last.
    """

    def __init__(self, empty: EmptyScene, frames: Iterable[np.ndarray] = (), any_scene: bool = False):
        self.empty, self._any_scene = empty, any_scene
        self.meter = LightMeter(empty.image_bgr, frames, empty.changing)
        # models of one camera learn what is left
        self._depth = IN_GREY if any_scene and self.meter.is_grey else SHADOW
        self.loosen(False)

    def loosen(self, is_shifted: bool) -> None:
        """Let edges be farther beside where they were, as in frames that are shifted back, or no longer."""
        self._leeway = _LEEWAY * self._any_scene + _SHIFTED_LEEWAY * is_shifted
        self._extremes = self._extremes_of(self.empty.image_bgr)
        self._limits = self._limits_at(self.empty.threshold, self._extremes)
        self._light = None

    def _extremes_of(self, image_bgr) -> list[np.ndarray]:
        """The darkest and brightest images (H, W, 3) uint8 of a scene whose edges may lie beside."""
        leeway = self._leeway
        return [
            cv2.addWeighted(image_bgr, 1 - leeway, extreme, leeway, 0)
            for extreme in (cv2.erode(image_bgr, _NEIGHBOURS), cv2.dilate(image_bgr, _NEIGHBOURS))
        ]

    def _limits_at(self, threshold, extremes) -> tuple[np.ndarray, np.ndarray]:
        """The least and the most that may pass for the scene, (H, W, 3) int16 each: its darkest and brightest
        images less and plus a threshold (H, W) uint8."""
        darkest, brightest = extremes
        threshold = cv2.merge([threshold] * 3)
        # not saturated: in less light white is darker than what may pass for white, in haze black is brighter
        most = cv2.add(brightest, threshold, dtype=cv2.CV_16S)
        is_white = (brightest >= _NEARLY_WHITE) & (largest_channel(brightest) >= SATURATED)[..., None]
        most[is_white | (threshold == NOTHING)] = _BEYOND_WHITE
        return cv2.subtract(darkest, threshold, dtype=cv2.CV_16S), most

    def _widened(self, excess_noise: float) -> np.ndarray:
        """The threshold (H, W) uint8 in more than the usual noise: squares of what is independent add up."""
        threshold = np.hypot(self.empty.threshold, np.float32(PER_NOISE * excess_noise))
        return np.minimum(threshold, 255).astype(np.uint8)

    def segment(self, frame_bgr: np.ndarray, light: Light) -> tuple[np.ndarray, np.ndarray]:
        """Segment a (H, W, 3) uint8 frame seen in some light: (H, W) uint8, 1 in the foreground, else 0; and
        the frame with the scene in its first state, in which that is."""
        if light is not self._light:
            self._see_in(light)
        frame_bgr = self._in_first_state(frame_bgr)
        changed = np.flatnonzero(cv2.inRange(frame_bgr, *self._range) == 0)
        mask = np.zeros(frame_bgr.shape[:2], np.uint8)
        black, depth = light.black_at(changed), self._depth_at(changed)
        is_shade = is_shadow_at(changed, frame_bgr, self.lit_bgr, black, depth)
        mask.ravel()[changed] = ~is_shade
        return mask, frame_bgr

    def _depth_at(self, pixels) -> Depth:
        """How deep shadows are at some pixels, (k,) int places."""
        shade = self.empty.shade
        if shade is None:
            return self._depth
        is_shaded = shade.where.ravel().take(pixels)
        return Depth(*(np.where(is_shaded, *pair) for pair in zip(shade.depth, self._depth, strict=True)))

    def _see_in(self, light) -> None:
        """Bring the scene and its limits to a light, so that frames in it need not be evened out."""
        self._light = light
        images, extremes = (self.empty.image_bgr, *self.empty.others_bgr), self._extremes
        threshold, limits = self.empty.threshold, self._limits
        if light.blur:
            images = [cv2.GaussianBlur(image, (0, 0), light.blur) for image in images]
            extremes = self._extremes_of(images[0])
        if light.excess_noise:
            threshold = self._widened(light.excess_noise)
        if light.tones is not None:
            least = np.minimum(LEAST_STEPS * light.tones.steps(len(threshold)), 255)
            threshold = np.maximum(threshold, least).astype(np.uint8)
        if threshold is not self.empty.threshold or extremes is not self._extremes:
            limits = self._limits_at(threshold, extremes)
        self.lit_bgr, *others = map(light.cast_on, images)
        # behind haze all is brighter, but not by what people differ from it
        seen = self.lit_bgr if light.tones is None else self.empty.image_bgr
        brightness = cv2.cvtColor(seen[::_EACH, ::_EACH], cv2.COLOR_BGR2GRAY)
        self.least_contrast = float(np.median(threshold[::_EACH, ::_EACH] / np.maximum(brightness, 1.0)))
        least, most = light.cast_on(limits[0], np.minimum), light.cast_on(limits[1], np.maximum)
        # what should be brighter than white is seen as white, or by the threshold darker than that
        self._range = cv2.min(least, cv2.merge([255 - threshold] * 3)), most
        if others:
            usual = cv2.merge([self.empty.threshold] * 3)
            states = self.lit_bgr, *others
            self._state_ranges = [(cv2.subtract(one, usual), cv2.add(one, usual)) for one in states]

    def _in_first_state(self, frame_bgr) -> np.ndarray:
        """A frame as it were if the scene was in its first state."""
        if not len(self.empty.others_bgr):
            return frame_bgr
        is_first, *are_others = (cv2.inRange(frame_bgr, *limits).view(bool) for limits in self._state_ranges)
        is_other = np.any(are_others, axis=0) & self.empty.changing & ~is_first
        return np.where(is_other[..., None], self.lit_bgr, frame_bgr)
