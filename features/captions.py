"""Running clocks that cameras and recorders write into their pictures."""

import cv2
import numpy as np

#: With fewer frames nothing comes back often enough to tell.
LEAST_FRAMES = 20
#: Captions are written into the uppermost and lowermost part of this size of the picture, and are no taller.
EDGE = 1 / 6
_SIDE, _STEP = 4, 2  # pixels: the side of the squares that are compared, and the step from one to the next
_CHANGED = 10  # a square has changed that differs from the median by more grey levels, on average,
_LEAST_CHANGED = 0.15  # one with digits has in this share of the frames or more,
_LEAST_CONTRAST = 15  # and in strokes: the least standard deviation of its pixels' changes, grey levels
_SAME = 0.2  # it is the same again within so much of that (root mean square): light may drift behind strokes
_OTHER = 9  # it is something else where it differs by more than so many times as much, squared
_LEAST_BACK = 0.85  # this share of its changes from one frame to the next come back, at the least,
_LEAST_SQUARES = 6  # as in so many squares next to each other
#: So many of its heights to the left and the right are of the same line: digits that seldom change.
_REACH = 6
#: Squares that are compared at a time: what is computed for them takes little memory.
_AT_A_TIME = 256


def captions(frames_bgr: np.ndarray, image_bgr: np.ndarray) -> np.ndarray:
    """Where digits change in frames of a fixed camera.

    Digits come back: what a square of pixels changes to, it has been before, to the pixel, and something else
    in between. People never look the same twice; who stays changes only where others pass in front, none of
    whom is seen again.

    Parameters
    ----------
    frames_bgr : (n, H, W, 3) uint8
        Spread over the footage.
    image_bgr : (H, W, 3) uint8
        Their median.

    Returns
    -------
    (H, W) bool
        The lines of text that hold them; nothing with fewer than `LEAST_FRAMES`.
    """
    is_caption = np.zeros(image_bgr.shape[:2], bool)
    height = round(EDGE * len(image_bgr))
    if len(frames_bgr) >= LEAST_FRAMES and min(height, image_bgr.shape[1]) >= _SIDE:
        for edge, inner in ((slice(height), height), (slice(-height, None), 0)):
            grey = np.stack([cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY) for frame in frames_bgr[:, edge]])
            squares = _squares_with_digits(grey, cv2.cvtColor(image_bgr[edge], cv2.COLOR_BGR2GRAY))
            for x, y, w, h in _lines(squares):
                if inner not in (y, y + h):  # what goes on further inside is none
                    reach = _REACH * h
                    is_caption[edge][y : y + h, max(0, x - reach) : x + w + reach] = True
    return is_caption


def _squares_with_digits(frames, image) -> np.ndarray:
    """(h, w) bool: upper left corners of squares in which digits change, of grey frames (n, h, w) uint8."""
    is_changed = np.stack([_squares_of(cv2.absdiff(frame, image)) > _CHANGED for frame in frames])
    found = np.zeros(image.shape, bool)
    rows, columns = np.nonzero(is_changed.mean(axis=0) >= _LEAST_CHANGED)
    side = np.arange(_SIDE)
    for first in range(0, len(rows), _AT_A_TIME):
        some = slice(first, first + _AT_A_TIME)
        y, x = rows[some], columns[some]
        places = _STEP * y[:, None, None] + side[:, None], _STEP * x[:, None, None] + side
        changes = frames[:, *places] - image[places].astype(np.float32)
        changes = changes.reshape(len(frames), len(y), -1).swapaxes(0, 1)
        is_back = _share_back(changes, is_changed[:, y, x].T) >= _LEAST_BACK
        found[_STEP * y[is_back], _STEP * x[is_back]] = True
    return found


def _squares_of(image) -> np.ndarray:
    """The mean of each square of an image (h, w) uint8."""
    means = cv2.boxFilter(image, -1, (_SIDE, _SIDE), anchor=(0, 0))
    return means[: len(image) - _SIDE + 1 : _STEP, : image.shape[1] - _SIDE + 1 : _STEP]


def _share_back(changes, is_changed) -> np.ndarray:
    """(k,) share of the frames in which squares have changed (k, n) bool, by changes (k, n, p) float32, that
    show what others do and something else in between, among those that differ from the frame before; 0 of
    squares without strokes."""
    norms = np.square(changes).sum(axis=2)
    distances = norms[:, :, None] + norms[:, None] - 2 * changes @ changes.swapaxes(1, 2)
    contrast = changes.std(axis=2)
    same = changes.shape[2] * np.square(_SAME * contrast)[:, :, None]
    n_others = np.cumsum(distances > _OTHER * same, axis=2, dtype=np.int16)
    has_others = n_others != np.diagonal(n_others, axis1=1, axis2=2)[:, :, None]
    is_same = distances <= same
    is_back = (is_same & has_others & is_changed[:, None]).any(axis=2)
    has_strokes = np.mean(contrast, axis=1, where=is_changed) >= _LEAST_CONTRAST
    is_new = is_changed.copy()
    is_new[:, 1:] &= ~np.diagonal(is_same, -1, axis1=1, axis2=2)
    return has_strokes * (is_back & is_new).sum(axis=1) / np.maximum(is_new.sum(axis=1), 1)


def _lines(squares) -> list[tuple[int, int, int, int]]:
    """Lines of text x, y, w, h of squares (h, w) bool."""
    end = _SIDE - 1
    whole = cv2.dilate(squares.view(np.uint8), np.ones((_SIDE, _SIDE), np.uint8), anchor=(end, end))
    joined = cv2.dilate(whole, np.ones((3, 2 * _SIDE + 1), np.uint8))
    n, labels, boxes, _ = cv2.connectedComponentsWithStats(joined)
    sizes = np.bincount(labels[squares], minlength=n)
    return [tuple(map(int, boxes[k, :4])) for k in range(1, n) if sizes[k] >= _LEAST_SQUARES]
