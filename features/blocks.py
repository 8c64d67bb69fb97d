"""Is footage coded so coarsely that its noise comes in blocks? As motion JPEG of low quality is.

Where each picture is coded by itself, in squares of eight pixels, what is left of a sensor's noise is
mostly nothing, and now and then a whole square jumps by a step of its coarse scale. So two pictures of a
fixed camera differ at the borders of squares, and hardly within. Reduced pictures do not show that any more.
"""

import cv2
import numpy as np

#: The side of a square, pixels; one row, and column, of so many is looked at.
_SIDE, _EACH = 8, 29
#: A step counts for so many grey levels at the most: people are no noise.
_MOST = 8
#: Coarse are steps at borders that are so many times those within, and by so many grey levels larger: mostly
#: 2.7 times and 1.3 levels or more in JPEG of quality 10 to 20 where counts were too high, up to 2.5 times in
#: footage as it is, and in coarse MPEG-4 (docs/decisions/2026-11-29-coarse.md).
_TIMES, _LARGER = 2.6, 1.0


class BlockMeter:
    """Looks at how frames of one camera, full size, differ from one to the next, seconds apart or not."""

    def __init__(self):
        self._last, self._sums, self._n_steps = None, (0.0, 0.0), 0

    def see(self, frame_bgr: np.ndarray) -> None:
        """Take a further frame, (H, W, 3) uint8 as it was decoded."""
        middle = _EACH // 2
        if min(frame_bgr.shape[:2]) <= middle:
            return
        few = [
            cv2.cvtColor(np.ascontiguousarray(lines), cv2.COLOR_BGR2GRAY).astype(np.int16)
            for lines in (frame_bgr[middle::_EACH], frame_bgr[:, middle::_EACH].transpose(1, 0, 2))
        ]
        if self._last is not None and [one.shape for one in few] == [one.shape for one in self._last]:
            steps = (np.abs(np.diff(one - last)) for one, last in zip(few, self._last, strict=True))
            self._sums = [
                total + np.minimum(one, _MOST).mean(axis=0)
                for total, one in zip(self._sums, steps, strict=True)
            ]
            self._n_steps += 1
        else:
            self._sums, self._n_steps = (0.0, 0.0), 0
        self._last = few

    @property
    def is_coarse(self) -> bool:
        """Whether the frames differ in blocks, both across and down, since they had another size last; False
        of fewer than two, or of some that are too small to tell."""
        return self._n_steps > 0 and all(_is_in_blocks(total / self._n_steps) for total in self._sums)


def _is_in_blocks(steps) -> bool:
    """Whether steps (n,) from each pixel of a line to the next, the first of a square's, show the squares;
    by medians, as people, texts and signs have borders of their own."""
    n_squares = (len(steps) - _SIDE + 1) // _SIDE
    if n_squares < 1:
        return False
    steps = steps[_SIDE - 1 :][: n_squares * _SIDE].reshape(n_squares, _SIDE)
    at_borders, within = np.median(steps[:, 0]), np.median(steps[:, 1:])
    return bool(at_borders >= _TIMES * within and at_borders >= within + _LARGER)
