"""Trains the bundled model on simulated scenes alone.

    python -m samples.train_default

No real footage takes part, so that its terms are clean and every real scene is unseen by it.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import click
import cv2
import numpy as np

from crowdcount.arrays import load_arrays, save_arrays
from crowdcount.model import CounterModel, doubt_in_scene
from crowdcount.pipeline import ANY_SCENE_QUANTITIES, PERSON_HEIGHT, Pipeline
from crowdcount.scene import scene_from
from features.schema import Schema
from models import (
    CountRegressor,
    HuberLossRegressor,
    blocked_quantile,
    count_metrics,
    count_scale,
    normalised_scores,
)

from .scenes import SceneSpec, random_spec
from .simulation import Simulation

#: Seeds of the scenes: random ones, random ones with up to as many people as the floor holds, and random ones
#: seen for half a minute, in which people who stand are taken for background.
USUAL, CROWDED, SHORT = range(56), range(100, 124), range(200, 224)
#: Frames simulated per scene, at this rate, so that people come and go between them, those who stand too; and
#: the rate of the short ones.
N_FRAMES, FPS, SHORT_FPS = 60, 0.2, 2.0
#: Logarithm of the person scale that a user gives or that is estimated over that of the simulation, mean and
#: spread: it is taken from the people seen, who are less tall than the man of 1.70 m on average.
SCALE_BIAS, SCALE_ERROR = -0.028, 0.04
#: A person of whom less is seen does not count: few annotators mark those, and no foreground tells of them.
MARKED_SHARE = 0.3
#: Cells without foreground among the training rows, per cell with it: nothing is nobody. Without them each
#: speck of foreground counted as a part of a person that does not depend on its size.
EMPTY_CELLS = 3
#: What is tried, on scenes held out in turn: lam, for quadratic kernels with coef0 1. The best has the least
#: error over the root of the count: by plain errors a few crowded scenes would decide.
LAMBDAS = (1e-2, 2e-2, 3e-2)
N_FOLDS = 6
#: Share of frames whose true count the interval shall hold.
LEVEL = 0.9
LIMITS = "a first estimate: train on some frames of your own camera for counts to rely on"


def training_spec(seed: int) -> SceneSpec:
    """The scene of a seed of `USUAL`, `CROWDED` or `SHORT`.

    It is a random one, but for what those have more of than cameras that are meant for counting.

    Frames are seconds apart, so that a drift of the light would look sudden. What hides people other than
    each other (objects in the way, the picture's lower edge) is left out: the share that is seen of a person
    behind it says little about other cameras.
    """
    spec = random_spec(seed, n_frames=N_FRAMES)
    people = spec.people
    if seed in CROWDED:
        middle = (spec.far_row + spec.size_wh[1]) / 2
        body = 0.3 * (spec.height_slope * middle + spec.height_intercept) ** 2
        floor = spec.size_wh[0] * (spec.size_wh[1] - spec.far_row)
        most = float(np.clip(0.8 * floor / body, 6, 110))
        people = float(np.exp(np.random.default_rng([seed, 77]).uniform(np.log(2), np.log(most))))
    return replace(
        spec,
        people=people,
        fps=SHORT_FPS if seed in SHORT else FPS,
        light_drift=min(spec.light_drift, 0.02),
        flicker=min(spec.flicker, 0.004),
        occluders=0,
        standing_share=0.6 * spec.standing_share,
        near_row=min(spec.near_row or np.inf, 0.95 * spec.size_wh[1]),
    )


def simulated_cells(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate the scene of a seed and measure its cells.

    Parameters
    ----------
    seed : int

    Returns
    -------
    features : (n_frames, n_cells, n_quantities) float64
        Frames with a flag (the light seemed to change) are left out.
    people : (n_frames, n_cells) float64
        How many people each cell shows: everyone marked counts 1, shared out over the cells by the visible
        pixels.
    """
    rng = np.random.default_rng([seed, 11])
    simulation = Simulation(training_spec(seed))
    frames = list(simulation.frames())
    slope, intercept = simulation.height_line
    scale = np.exp(rng.normal(SCALE_BIAS, SCALE_ERROR))
    width, height = simulation.spec.size_wh
    rows = (max(0.45 * height, simulation.spec.far_row), float(height))
    persons = [(width / 2, row, scale * (slope * row + intercept)) for row in rows]
    scene = scene_from((width, height), simulation.roi_polygons, persons)
    pipeline = Pipeline.for_any_scene(scene, rate=simulation.spec.fps)
    pipeline.learn([frame.image_bgr for frame in frames])
    grid = cv2.resize(pipeline.geometry.grids[0], (width, height), interpolation=cv2.INTER_NEAREST)
    n_cells = pipeline.geometry.n_regions
    features, people = [], []
    for frame in frames:
        measured = pipeline.measure(frame.image_bgr)
        if not measured.flags:
            features.append(measured.features)
            people.append(_people_per_cell(frame, grid, n_cells))
    n_quantities = len(pipeline.quantity_names)
    return np.reshape(features, (-1, n_cells, n_quantities)), np.reshape(people, (-1, n_cells))


def _people_per_cell(frame, grid, n_cells) -> np.ndarray:
    people = np.zeros(n_cells)
    for person in frame.person_ids[frame.visible_share >= MARKED_SHARE]:
        cells = grid[frame.label_map == person]
        if (cells >= 0).any():
            people += np.bincount(cells[cells >= 0], minlength=n_cells) / len(cells)
    return people


def keep_cells(seed: int, folder: Path) -> Path:
    """`simulated_cells` of a seed in a file of `folder`, simulated only when it is not there yet."""
    file = folder / f"cells-{seed}.npz"
    if not file.exists():
        cv2.setNumThreads(1)
        features, people = simulated_cells(seed)
        save_arrays(file, "cells", 1, {"features": features, "people": people}, {"seed": seed})
    return file


def fit_default(features: list[np.ndarray], people: list[np.ndarray]) -> CounterModel:
    """Fit a model to the cells of many scenes; settings and interval come from scenes held out.

    Parameters
    ----------
    features : list of (n_frames, n_cells, n_quantities) float64, one per scene
    people : list of (n_frames, n_cells) float64
    """
    columns = tuple(quantity.name for quantity in ANY_SCENE_QUANTITIES)
    views = [view for view in Schema(ANY_SCENE_QUANTITIES, ("cell",)).views() if view]
    folds = [range(k, len(features), N_FOLDS) for k in range(N_FOLDS)]

    def model(scenes, lam) -> CounterModel:
        rows = np.concatenate([features[k].reshape(-1, len(columns)) for k in scenes])
        targets = np.concatenate([people[k].ravel() for k in scenes])
        chosen = _with_empty(rows.any(axis=1))
        regressor = HuberLossRegressor(
            views=views,
            kernel="poly",
            kernel_params={"degree": 2, "coef0": 1.0},
            lam=lam,
            gamma=0.0,
            n_refinements=0,
        )
        regressor = CountRegressor(regressor).fit(rows[chosen], targets[chosen])
        return CounterModel(regressor.predictor_, columns, per_cell=True, person_height=PERSON_HEIGHT)

    def held_out(lam):
        """Per scene: counts predicted without it, and the share of columns outside the training range."""
        counts, outside = {}, {}
        for fold in folds:
            fitted = model([k for k in range(len(features)) if k not in fold], lam)
            for k in fold:
                counts[k], outside[k] = fitted.predict(features[k]), fitted.outside(features[k])
        order = range(len(features))
        return np.concatenate([counts[k] for k in order]), np.concatenate([outside[k] for k in order])

    truth = np.concatenate([cells.sum(axis=1) for cells in people])
    least = np.inf
    for lam in LAMBDAS:
        counts, outside = held_out(lam)
        metrics = count_metrics(truth, counts)
        error = float(np.mean(np.abs(counts - truth) / count_scale(truth)))
        click.echo(f"lam {lam:g}: {error:.4f}, MAE {metrics.mae:.3f}, bias {metrics.bias:+.3f}")
        if error < least:
            least, best, setting, held_out_counts, usual = error, metrics, lam, counts, outside
    scores = normalised_scores(truth, held_out_counts, doubt_in_scene(1.0))
    scores = np.split(scores, np.cumsum([len(p) for p in people])[:-1])
    return replace(
        model(range(len(features)), setting),
        quantile=blocked_quantile(scores, LEVEL),
        level=LEVEL,
        usual_outside=float(np.quantile(usual, 0.99)),
        facts={
            "trained_on": f"{len(features)} simulated scenes",
            "limits": LIMITS,
            "cross_validation": asdict(best),
            "lam": setting,
        },
    )


def _with_empty(occupied) -> np.ndarray:
    """The occupied rows (n,) bool, and of the others `EMPTY_CELLS` times as many as there are, at random."""
    empty = np.flatnonzero(~occupied)
    n_empty = min(len(empty), EMPTY_CELLS * np.count_nonzero(occupied))
    chosen = occupied.copy()
    chosen[np.random.default_rng(0).choice(empty, n_empty, replace=False)] = True
    return chosen


@click.command()
@click.option(
    "--cells",
    default="out/cells",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder that keeps the measured cells, so that a stopped run goes on.",
)
@click.option("--processes", default=os.cpu_count(), help="Scenes simulated at a time.")
@click.option("-o", "--output", default="crowdcount/default-model.npz", show_default=True, help="Model file.")
def main(cells: Path, processes: int, output: str) -> None:
    """Simulate scenes, fit the bundled model to their cells, and write it."""
    cells.mkdir(parents=True, exist_ok=True)
    features, people = [], []
    with ProcessPoolExecutor(processes) as pool:
        for file in pool.map(partial(keep_cells, folder=cells), (*USUAL, *CROWDED, *SHORT)):
            arrays, _ = load_arrays(file, "cells", 1)
            click.echo(f"{file.name}: {len(arrays['people'])} frames, {arrays['people'].sum():.0f} people")
            if len(arrays["people"]):
                features.append(arrays["features"])
                people.append(arrays["people"])
    fit_default(features, people).save(output)


if __name__ == "__main__":
    main()
