"""The feature families written plainly, view by view and grid by grid: what the fast ones are held against.

Each takes a mask (H, W) bool and a `features.geometry.Geometry`, shares nothing with the others, and returns
the columns of its family as `features` defines them.
"""

import cv2
import numpy as np

from features.edges import BOX_SIDES, CANNY_HIGH, CANNY_LOW, REACH
from features.geometry import Geometry
from features.size import N_DIRECTIONS, N_ORIENTATIONS, direction_bins, orientation_bins, ratio
from features.texture import N_LBP_CODES, N_LEVELS

OFFSETS = ((0, 1), (1, 1), (1, 0), (1, -1))


def plain_features(grey, mask, geometry: Geometry) -> np.ndarray:
    """All columns (n_regions, 52) float64."""
    families = (
        size_features(mask, geometry),
        silhouette_features(mask, geometry),
        edge_features(grey, mask, geometry),
        texture_features(grey, mask, geometry),
    )
    return np.hstack(families)


def sums(geometry, pixels, weights=None, bins=0, n_bins=1) -> np.ndarray:
    """Sum weights (k,) of pixels (k,), flat indices, per region and bin: (n_regions, n_bins)."""
    total = np.zeros(geometry.n_regions * n_bins)
    for grid in geometry.grids:
        index = grid.ravel()[pixels] * np.intp(n_bins) + bins
        total += np.bincount(index, weights, len(total))
    return total.reshape(geometry.n_regions, n_bins)


def size_features(mask, geometry: Geometry) -> np.ndarray:
    """Area, perimeter by direction, their ratio, and blobs."""
    mask = mask.view(np.uint8)
    lengths = (1.0 / geometry.person_height).ravel()
    foreground = np.flatnonzero(mask)
    pixel_area = lengths[foreground] ** 2
    area = sums(geometry, foreground, pixel_area)

    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    outline = np.flatnonzero(mask & ~cv2.erode(mask, cross, borderType=cv2.BORDER_REPLICATE))
    smooth = cv2.GaussianBlur(mask * np.uint8(255), (5, 5), 0)
    normal_x = cv2.Sobel(smooth, cv2.CV_32F, 1, 0).ravel()[outline]
    normal_y = cv2.Sobel(smooth, cv2.CV_32F, 0, 1).ravel()[outline]
    directions = direction_bins(normal_x, normal_y)
    directed = sums(geometry, outline, lengths[outline], directions, N_DIRECTIONS)

    _, labels = cv2.connectedComponents(mask, connectivity=8, ltype=cv2.CV_32S)
    blob = labels.ravel()[foreground]
    blobs = sums(geometry, foreground, pixel_area / np.bincount(blob, pixel_area)[blob])
    perimeter = directed.sum(axis=1, keepdims=True)
    return np.hstack([area, perimeter, directed, ratio(perimeter, area), blobs])


def silhouette_features(mask, geometry: Geometry) -> np.ndarray:
    """Widths of what has no foreground above it, and of what has none below it."""
    lengths = (1.0 / geometry.person_height).ravel()
    padded = np.pad(mask, ((1, 1), (0, 0)))
    tops, bottoms = (np.flatnonzero(mask & ~beside) for beside in (padded[:-2], padded[2:]))
    return np.hstack([sums(geometry, pixels, lengths[pixels]) for pixels in (tops, bottoms)])


def edge_features(grey, mask, geometry: Geometry) -> np.ndarray:
    """Edges by direction, and their Minkowski dimension."""
    gradient_x, gradient_y = cv2.Sobel(grey, cv2.CV_16S, 1, 0), cv2.Sobel(grey, cv2.CV_16S, 0, 1)
    near = cv2.dilate(mask.view(np.uint8), np.ones((2 * REACH + 1, 2 * REACH + 1), np.uint8)) > 0
    gradient_x[~near], gradient_y[~near] = 0, 0
    edges = cv2.Canny(gradient_x, gradient_y, CANNY_LOW, CANNY_HIGH)
    pixels = np.flatnonzero((edges > 0) & mask)
    lengths = (1.0 / geometry.person_height).ravel()[pixels]
    directions = orientation_bins(
        gradient_x.ravel()[pixels].astype(np.float32), gradient_y.ravel()[pixels].astype(np.float32)
    )
    directed = sums(geometry, pixels, lengths, directions, N_ORIENTATIONS)
    rows, columns = np.divmod(pixels, mask.shape[1])
    log_counts = []
    for side in BOX_SIDES:
        counts = np.zeros(geometry.n_regions, int)
        for grid in geometry.grids:
            occupied = {*zip(grid.ravel()[pixels].tolist(), rows // side, columns // side, strict=True)}
            counts += np.bincount([region for region, *_ in occupied] or [0], minlength=len(counts))
            counts[0] -= not occupied
        log_counts.append(np.log(np.maximum(counts, 1)))
    log_sides = np.log(BOX_SIDES) - np.log(BOX_SIDES).mean()
    dimension = -(log_sides @ np.array(log_counts)) / (log_sides @ log_sides)
    return np.hstack([directed.sum(axis=1, keepdims=True), directed, dimension[:, None]])


def texture_features(grey, mask, geometry: Geometry) -> np.ndarray:
    """Statistics of the co-occurrence matrix of each direction, and local binary patterns."""
    statistics = [glcm_statistics(glcm(grey, mask, geometry, offset)) for offset in OFFSETS]
    pixels = np.flatnonzero(mask)
    areas = (1.0 / geometry.person_height).ravel()[pixels] ** 2
    return np.hstack([*statistics, sums(geometry, pixels, areas, lbp_codes(grey, pixels), N_LBP_CODES)])


def glcm(grey, mask, geometry: Geometry, offset) -> np.ndarray:
    """Symmetric co-occurrence counts (n_regions, L, L) of pairs inside the mask."""
    height, width = grey.shape
    row_step, column_step = offset
    first = slice(max(0, -column_step), width - max(0, column_step))
    second = slice(max(0, column_step), width - max(0, -column_step))
    pairs = np.zeros_like(mask)
    pairs[: height - row_step, first] = mask[: height - row_step, first] & mask[row_step:, second]
    pixels = np.flatnonzero(pairs)
    levels = (grey.ravel() // (256 // N_LEVELS)).astype(np.intp)
    codes = levels[pixels] * N_LEVELS + levels[pixels + row_step * width + column_step]
    counts = sums(geometry, pixels, None, codes, N_LEVELS**2).reshape(-1, N_LEVELS, N_LEVELS)
    return counts + counts.transpose(0, 2, 1)


def glcm_statistics(counts) -> np.ndarray:
    """Homogeneity, energy, entropy and contrast (n, 4) of counts (n, L, L)."""
    totals = counts.sum(axis=(1, 2), keepdims=True)
    p = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    level = np.arange(N_LEVELS)
    squared_difference = (level[:, None] - level) ** 2
    homogeneity = (p / (1 + squared_difference)).sum(axis=(1, 2))
    energy = np.sqrt((p**2).sum(axis=(1, 2)))
    entropy = -(p * np.log2(p, out=np.zeros_like(p), where=p > 0)).sum(axis=(1, 2))
    return np.stack([homogeneity, energy, entropy, (p * squared_difference).sum(axis=(1, 2))], axis=1)


def lbp_codes(grey, pixels) -> np.ndarray:
    """Rotation-invariant uniform patterns (k,), interpolated in floating point as scikit-image does."""
    width = grey.shape[1] + 2
    padded = np.pad(grey, 1).astype(np.float64).ravel()
    rows, columns = np.divmod(pixels, grey.shape[1])
    centre = (rows + 1) * width + columns + 1

    def near(row, column):
        return padded[centre + row * width + column]

    def point(row_step, column_step):
        (top, bottom, down), (left, right, across) = (
            (min(step, 0), max(step, 0), _fraction(place, 0.70711 * step))
            for place, step in ((rows, row_step), (columns, column_step))
        )
        upper = (1 - across) * near(top, left) + across * near(top, right)
        lower = (1 - across) * near(bottom, left) + across * near(bottom, right)
        return (1 - down) * upper + down * lower

    circle = [near(0, 1), point(-1, 1), near(-1, 0), point(-1, -1),
              near(0, -1), point(1, -1), near(1, 0), point(1, 1)]  # fmt: skip
    bits = np.stack([value >= near(0, 0) for value in circle])
    changes = (bits != np.roll(bits, 1, axis=0)).sum(axis=0)
    return np.where(changes <= 2, bits.sum(axis=0), N_LBP_CODES - 1)


def _fraction(coordinate, step):
    position = coordinate + step
    return position - np.floor(position)
