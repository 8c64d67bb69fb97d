"""Shadows: the background, evenly darker."""

from typing import NamedTuple

import numpy as np

from .images import channel_spread

#: A shadow has no more than this of the background's light, on average over the channels.
_LIGHTEST = 1.0


class Depth(NamedTuple):
    """How deep shadows are: so much of the background's light they have at the least, on average over the
    channels, which differ by less than `spread`; numbers, or (k,) arrays."""

    darkest: float | np.ndarray
    spread: float | np.ndarray


#: What is told from people's clothes;
SHADOW = Depth(0.55, 0.10)
#: where nothing has a colour, by its darkness alone (docs/decisions/2026-11-28-grey.md);
IN_GREY = Depth(0.7, 0.10)
#: and the deepest shade that may wander: it may be bluer too (docs/decisions/2026-12-01-shade.md).
SHADE = Depth(0.4, 0.20)


class Shade(NamedTuple):
    """Shade that wanders: where, (H, W) bool, and how deep it is."""

    where: np.ndarray
    depth: Depth


def light_left(pixels_bgr, background_bgr, black_bgr: np.ndarray | float = 0.0) -> np.ndarray:
    """What share (k, 3) of the light of a background is left in each channel of pixels: see `is_shadow`."""
    least = np.float32(4) - np.float32(black_bgr)
    return (pixels_bgr + least) / np.maximum(background_bgr + least, 1)


def is_shadow(
    pixels_bgr, background_bgr, black_bgr: np.ndarray | float = 0.0, depth: Depth = SHADOW
) -> np.ndarray:
    """Whether pixels are the background darkened evenly in all channels (Prati et al. 2003, simplified).

    Parameters
    ----------
    pixels_bgr, background_bgr : (k, 3) uint8
    black_bgr : (3,) or (k, 1) float32, optional
        What black looks like: haze adds that to all levels, and no shadow takes it away. Nothing brighter is
        a shadow on what is darker than that, as where less light falls into a part of the picture.
    depth : Depth

    Returns
    -------
    (k,) bool
    """
    blue, green, red = light_left(pixels_bgr, background_bgr, black_bgr).T
    total = blue + green + red
    spread = channel_spread((blue, green, red))
    is_darker = (total > 3 * depth.darkest) & (total < 3 * _LIGHTEST)
    return is_darker & (spread < depth.spread)


def is_shadow_at(
    pixels, image_bgr, background_bgr, black_bgr: np.ndarray | float = 0.0, depth: Depth = SHADOW
) -> np.ndarray:
    """`is_shadow` (k,) at some pixels, (k,) int places in images (H, W, 3) uint8 read row by row."""
    channels = 3 * pixels + np.arange(3)[:, None]  # channel by channel is faster than pixel by pixel
    seen, background = (image.ravel().take(channels).T for image in (image_bgr, background_bgr))
    return is_shadow(seen, background, black_bgr, depth)
