"""Where the people of a data set stand: its dots and boxes as counts per region of the scene."""

import numpy as np
from scipy.ndimage import distance_transform_edt

from ..profile import heights_at
from ..scene import Scene
from .datasets import Dataset, box_centres

#: A dot lies on the head; the body's centre is this share of a person's height below it.
BODY_BELOW_HEAD = 0.42
#: A person counts where the body is: in 4 x 4 places around its centre, these shares of the height apart.
_PLACES = np.array([-0.24, -0.08, 0.08, 0.24])


def body_centres(dataset: Dataset, row: int, scene: Scene) -> tuple[np.ndarray, np.ndarray] | None:
    """Body centres (k, 2) of the people in a row of the data set and their heights (k,), in pixels.

    None where the row is not annotated. Only people in the scene's region of interest are meant, by their
    dot or the centre of their box, as the counts have it.
    """
    heads, boxes = dataset.people(row, scene.roi)
    if boxes is not None:
        return box_centres(boxes), boxes[:, 3]
    if heads is None:
        return None
    heights = heights_at(scene.person_height, heads)
    for _ in range(3):  # the height is that of a person whose body, not head, is there
        centres = heads + np.column_stack([np.zeros(len(heads)), BODY_BELOW_HEAD * heights])
        heights = heights_at(scene.person_height, centres)
    return centres, heights


def local_counts(dataset: Dataset, rows: np.ndarray, scene: Scene, cells: np.ndarray) -> np.ndarray | None:
    """People (n, n_cells) of rows of a data set in each cell, a person on a border shared between cells.

    Parameters
    ----------
    dataset : Dataset
    rows : (n,) int
    scene : Scene
    cells : (h, w) int
        Number of the cell of each pixel of the scene at any size, -1 outside the region of interest.

    Returns
    -------
    (n, n_cells) float64, or None when a row has neither dots nor boxes. A row's sum is the number of its
    people in the region of interest; who stands in front of its border counts in the nearest cell.
    """
    nearest = cells[tuple(distance_transform_edt(cells < 0, return_distances=False, return_indices=True))]
    scale = np.array(cells.shape[::-1]) / np.array(scene.size_wh)
    counts = np.zeros((len(rows), cells.max() + 1))
    across, down = (shift.ravel() for shift in np.meshgrid(_PLACES, _PLACES))
    for i, row in enumerate(rows):
        found = body_centres(dataset, row, scene)
        if found is None:
            return None
        centres, heights = found
        x = (centres[:, :1] + across * heights[:, None]) * scale[0]
        y = (centres[:, 1:] + down * heights[:, None]) * scale[1]
        column = np.clip(x.astype(np.intp), 0, cells.shape[1] - 1)
        line = np.clip(y.astype(np.intp), 0, cells.shape[0] - 1)
        counts[i] = np.bincount(nearest[line, column].ravel(), minlength=counts.shape[1]) / len(across)
    return counts
