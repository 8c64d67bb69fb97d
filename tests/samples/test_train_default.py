"""The bundled model's training: its scenes, and that nothing counts as nobody."""

import numpy as np

from crowdcount.pipeline import ANY_SCENE_QUANTITIES
from samples.scenes import random_spec
from samples.train_default import (
    CROWDED,
    FPS,
    SHORT,
    SHORT_FPS,
    USUAL,
    fit_default,
    training_spec,
)

NAMES = [quantity.name for quantity in ANY_SCENE_QUANTITIES]


def test_kinds_of_scenes():
    for kind, fps in ((USUAL, FPS), (CROWDED, FPS), (SHORT, SHORT_FPS)):
        specs = [training_spec(seed) for seed in kind[:8]]
        assert {spec.fps for spec in specs} == {fps}
        assert not any(spec.occluders for spec in specs)
    assert training_spec(USUAL[3]).people == random_spec(USUAL[3]).people
    assert training_spec(CROWDED[0]).people != random_spec(CROWDED[0]).people


def test_people_of_one_size_are_counted_and_a_speck_is_not_a_person():
    rng = np.random.default_rng(3)
    features, people = [], []
    for _ in range(8):
        counts = rng.integers(0, 3, (40, 6))
        cells = np.zeros((40, 6, len(NAMES)))
        cells[..., NAMES.index("clumps_20")] = counts
        for k in range(10):
            cells[..., NAMES.index(f"lbp_{k}")] = 0.02 * counts * rng.uniform(0.8, 1.2, counts.shape)
        features.append(cells)
        people.append(counts.astype(float))
    model = fit_default(features, people)
    assert model.facts["cross_validation"]["mae"] < 0.3
    speck = np.zeros((1, 1, len(NAMES)))
    speck[..., NAMES.index("clumps_20")] = 0.05
    assert model.predict(speck)[0] < 0.2
