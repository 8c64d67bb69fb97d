"""The neighbour graph's Laplacian."""

import numpy as np
import pytest
from scipy.linalg import eigvalsh
from sklearn.neighbors import kneighbors_graph

from models.graphs import nearest_others, neighbor_laplacian


def test_it_is_symmetric_positive_semi_definite_with_a_known_null_vector():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    laplacian = neighbor_laplacian(rows, 5).toarray()
    np.testing.assert_array_equal(laplacian, laplacian.T)
    eigenvalues = eigvalsh(laplacian)
    assert -1e-12 < eigenvalues[0] < 1e-12
    assert eigenvalues[-1] <= 2
    degrees = (laplacian < 0).sum(axis=1)
    assert degrees.min() >= 5
    np.testing.assert_allclose(laplacian @ np.sqrt(degrees), 0, atol=1e-12)


def test_a_line_of_three_points():
    laplacian = neighbor_laplacian(np.array([[0.0], [1.0], [2.1]]), 1).toarray()
    s = 1 / np.sqrt(2)
    np.testing.assert_allclose(laplacian, [[1, -s, 0], [-s, 1, -s], [0, -s, 1]])


def test_far_clusters_are_not_connected_and_duplicates_are_neighbours():
    rows = np.array([[0.0], [0.0], [0.0], [9.0], [9.0], [9.0]])
    laplacian = neighbor_laplacian(rows, 2).toarray()
    assert not laplacian[:3, 3:].any()
    np.testing.assert_allclose(np.diag(laplacian), 1)


def test_fewer_rows_than_neighbours():
    assert neighbor_laplacian(np.zeros((1, 2)), 10).toarray() == [[0.0]]
    np.testing.assert_allclose(neighbor_laplacian(np.array([[0.0], [5.0]]), 10).toarray(), [[1, -1], [-1, 1]])


def test_neighbours_are_those_of_scikit_learn_and_never_the_row_itself():
    rows = np.random.default_rng(0).normal(size=(200, 6))
    ours = np.zeros((200, 200))
    np.put_along_axis(ours, nearest_others(rows, 10), 1.0, axis=1)
    np.testing.assert_array_equal(ours, kneighbors_graph(rows, 10).toarray())
    duplicates = np.repeat(rows[:5], 40, axis=0)
    found = nearest_others(duplicates, 10)
    assert not (found == np.arange(200)[:, None]).any()
    np.testing.assert_array_equal(duplicates[found], np.repeat(duplicates[:, None], 10, axis=1))


def test_distances_that_overflow_are_refused():
    with pytest.raises(ValueError, match="distances between rows overflow"):
        neighbor_laplacian(np.array([[0.0], [1e160], [-1e160]]), 1)
