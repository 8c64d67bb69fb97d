"""Parts of footage, each of which shows the scene as it was then, without passers-by."""

import numpy as np

#: Frames of a part: their median is without passers-by. Of fewer than five parts none is looked at.
PART_FRAMES = 6
LEAST_FRAMES = 5 * PART_FRAMES


def parts_of(frames: np.ndarray) -> list[np.ndarray]:
    """Frames (n, …) in the order of time, in parts of `PART_FRAMES`; none of fewer than `LEAST_FRAMES`."""
    return np.array_split(frames, len(frames) // PART_FRAMES) if len(frames) >= LEAST_FRAMES else []
