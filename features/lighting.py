"""The light from frame to frame: steady, unsteady, or another all at once."""

import numpy as np

from .light import Light, unevenness
from .subtraction import PER_NOISE

#: A sudden change of a channel's gain by more than this factor is a light change.
LIGHT_CHANGE_GAIN = 1.25
#: Light is unsteady, and looked at in each frame, where a channel's gain differs by this share from that of
#: the look before, or the light on the rows of the picture, or on its parts, by these (root mean square).
UNSTEADY_GAIN, UNSTEADY_ROWS, UNSTEADY_PARTS = 0.12, 0.04, 0.02
#: Counts are not to be relied on where noise adds more than so many grey levels to a difference.
NOISY = 20.0


class LightWatch:
    """Keeps the light in which the frames of one camera are seen, and tells when to look at it again.

    Attributes
    ----------
    light : Light or None
        As last looked at; None before, and once it was forgotten.
    """

    def __init__(self):
        self.light: Light | None = None
        self._in_turn, self._is_unsteady = None, False  # of the last look that was not out of turn

    def forget(self) -> None:
        """The empty scene is another: so is the light, against that."""
        self.light = self._in_turn = None

    def start(self, light: Light) -> None:
        """Take a light for what it was from the beginning."""
        self.light = self._in_turn = light

    @property
    def is_due(self) -> bool:
        """Whether to look at the next frame's light even out of turn: by a knock the picture is noisy for a
        moment."""
        return self.light is None or self._is_unsteady or is_noisy(self.light)

    def take_turn(self) -> None:
        """The look at the light was in its turn."""
        if self._in_turn is not None:
            self._is_unsteady = _is_unsteady(self.light, self._in_turn)
        self._in_turn = self.light

    def has_jumped(self, former: Light | None) -> bool:
        """Whether a channel is much brighter or darker than in the light before, or a part of the scene."""
        if former is None or former is self.light:
            return False
        if self.light.other is not None and former.other is None:
            return True
        return _change_between(self.light, former) > np.log(LIGHT_CHANGE_GAIN)


def is_noisy(light: Light) -> bool:
    """Whether there is so much noise in a light that counts are not to be relied on."""
    return PER_NOISE * light.excess_noise > NOISY


def _change_between(light: Light, former: Light) -> float:
    """By how much the channel that has changed most is brighter or darker, as a logarithm."""
    return np.abs(np.log(light.brightness / former.brightness)).max()


def _is_unsteady(light: Light, former: Light) -> bool:
    """Whether a light is not that of the look before: lamps flicker, a camera hunts for its exposure, or the
    shadow of a cloud comes or goes. Who walks past changes it in single blocks."""
    change = light.local / former.local
    rows = np.median(np.log(change), axis=1)
    return (
        _change_between(light, former) > UNSTEADY_GAIN
        or np.sqrt(np.mean(rows**2)) > UNSTEADY_ROWS
        or unevenness(change) > UNSTEADY_PARTS
    )
