"""Shadows: the background, evenly darker."""

import numpy as np

from .images import channel_spread

#: A shadow has so much of the background's light, on average over the channels, at the least and the most;
#: the channels differ by less than the last.
_DARKEST, _LIGHTEST, _COLOUR_SPREAD = 0.55, 1.0, 0.10
#: At the least where nothing has a colour, and clothes are told from shadows by their darkness alone
#: (docs/decisions/2026-11-28-grey.md).
_DARKEST_GREY = 0.7


def is_shadow(
    pixels_bgr, background_bgr, black_bgr: np.ndarray | float = 0.0, is_grey: bool = False
) -> np.ndarray:
    """Whether pixels are the background darkened evenly in all channels (Prati et al. 2003, simplified).

    Parameters
    ----------
    pixels_bgr, background_bgr : (k, 3) uint8
    black_bgr : (3,) or (k, 1) float32, optional
        What black looks like: haze adds that to all levels, and no shadow takes it away. Nothing brighter is
        a shadow on what is darker than that, as where less light falls into a part of the picture.
    is_grey : bool
        Whether nothing in the footage has a colour.

    Returns
    -------
    (k,) bool
    """
    least = np.float32(4) - np.float32(black_bgr)
    blue, green, red = ((pixels_bgr + least) / np.maximum(background_bgr + least, 1)).T
    total = blue + green + red
    spread = channel_spread((blue, green, red))
    darkest = _DARKEST_GREY if is_grey else _DARKEST
    is_darker = (total > 3 * darkest) & (total < 3 * _LIGHTEST)
    return is_darker & (spread < _COLOUR_SPREAD)


def is_shadow_at(
    pixels, image_bgr, background_bgr, black_bgr: np.ndarray | float = 0.0, is_grey: bool = False
) -> np.ndarray:
    """`is_shadow` (k,) at some pixels, (k,) int places in images (H, W, 3) uint8 read row by row."""
    channels = 3 * pixels + np.arange(3)[:, None]  # channel by channel is faster than pixel by pixel
    seen, background = (image.ravel().take(channels).T for image in (image_bgr, background_bgr))
    return is_shadow(seen, background, black_bgr, is_grey)
