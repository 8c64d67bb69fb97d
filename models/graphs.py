"""Similarity graphs over rows and their Laplacians."""

import numpy as np
from scipy import sparse
from sklearn.neighbors import kneighbors_graph


def neighbor_laplacian(rows: np.ndarray, n_neighbors: int) -> sparse.csr_array:
    """Symmetric normalized Laplacian I - D^-1/2 W D^-1/2 of the rows' neighbour graph.

    W_ij = 1 when i is among the `n_neighbors` nearest rows of j in Euclidean distance or j among those of i
    (columns count as they are scaled), else 0; binary weights need no length scale and take duplicate rows.
    With fewer than `n_neighbors` other rows all of them are neighbours; a single row has none, and a row
    without neighbours gets a zero row: nothing to be smooth with.

    rows: (n, d) float64. Returns (n, n) sparse, positive semi-definite, eigenvalues in [0, 2].
    """
    n = len(rows)
    n_neighbors = min(n_neighbors, n - 1)
    if n_neighbors < 1:
        return sparse.csr_array((n, n))
    directed = sparse.csr_array(kneighbors_graph(rows, n_neighbors))
    weights = directed.maximum(directed.T).tocsr()
    scale = 1.0 / np.sqrt(weights.sum(axis=1))
    return (sparse.eye_array(n) - sparse.diags_array(scale) @ weights @ sparse.diags_array(scale)).tocsr()
