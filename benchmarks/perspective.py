"""How far the estimated person height is off, what its reliability is worth, and whether the intervals hold.

    python -m benchmarks.perspective [KIND…] [--scenes 4] [--first-seed 2000] [--quick]

Simulated scenes of several kinds, of seeds that neither the bundled model nor the estimation was made with,
and the real clips. The person height is estimated from each scene's frames alone, as `crowdcount scene` does,
and people are counted by the bundled model, with that height and with the true one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import click
import cv2
import numpy as np

from benchmarks.data import FOOTAGE, DataError, labelled
from benchmarks.tables import Table
from crowdcount.counting import make_pipeline
from crowdcount.learning.training import evaluate
from crowdcount.model import CounterModel, default_model
from crowdcount.overview import estimated_scene
from crowdcount.scene import Scene, estimate_scene, for_estimation, import_scene, scene_from
from crowdcount.video import open_source
from samples.scenes import SceneSpec, random_spec
from samples.simulation import Simulation
from samples.train_default import MARKED_SHARE, SCALE_BIAS

N_FRAMES, QUICK_FRAMES = 100, 24
#: Frames per second: people come and go between the frames.
RATE = 1.0
#: What is called right: the logarithm of the height is off by less.
TOLERANCE = 0.2
RELIABILITIES = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 1.01)


def _usual(rng, spec: SceneSpec) -> SceneSpec:
    return spec


def _crowd(rng, spec: SceneSpec) -> SceneSpec:
    """As many people as half to nearly all of the floor holds."""
    middle = (spec.far_row + spec.size_wh[1]) / 2
    body = 0.3 * (spec.height_slope * middle + spec.height_intercept) ** 2
    floor = spec.size_wh[0] * (spec.size_wh[1] - spec.far_row)
    return replace(spec, people=float(np.clip(rng.uniform(0.5, 0.9) * floor / body, 6, 110)))


def _square(rng, spec: SceneSpec) -> SceneSpec:
    return replace(spec, people=rng.uniform(9, 18), fps=2.5)


def _oblique(rng, spec: SceneSpec) -> SceneSpec:
    """A street from the first or second floor, as town-centre cameras see it; the farthest heads are seen."""
    height = spec.size_wh[1]
    near = height * rng.uniform(0.26, 0.4)
    far = near * rng.uniform(0.25, 0.45)
    far_row = max(1.2 * far, height * rng.uniform(0.05, 0.2))
    slope = (near - far) / (height - far_row)
    line = {"height_slope": slope, "height_intercept": near - slope * height, "far_row": far_row}
    view = {"depression_deg": rng.uniform(25, 38), "lateral_share": rng.uniform(0, 0.5)}
    return replace(_square(rng, spec), **line, **view)


def _night(rng, spec: SceneSpec) -> SceneSpec:
    sensor = {"noise": rng.uniform(6, 14), "exposure": rng.uniform(0.5, 0.7), "contrast": 1.0}
    return replace(
        spec,
        **sensor,
        saturation=0.3,
        jpeg_quality=int(rng.integers(30, 60)),
        cast_shadow=0.0,
        light_drift=0.01,
    )


#: Kinds of simulated scenes: setting and size (drawn unless given), and what is changed of a random scene.
KINDS: dict[str, tuple[str | None, tuple[int, int] | None, Callable]] = {
    "street": ("street", None, _usual),
    "square": ("plaza", None, _usual),
    "hall": ("mall", None, _usual),
    "walkway": ("walkway", None, _usual),
    "square, 1920x1080": ("plaza", (1920, 1080), _square),
    "oblique street, 1920x1080": ("plaza", (1920, 1080), _oblique),
    "few people": (None, None, lambda rng, spec: replace(spec, people=rng.uniform(0.5, 1.5))),
    "crowd": (None, None, _crowd),
    "four seconds": (None, None, lambda rng, spec: replace(spec, fps=25.0)),
    "a frame in 10 s": (None, None, lambda rng, spec: replace(spec, fps=0.1)),
    "hard shadows": (None, None, lambda rng, spec: replace(spec, cast_shadow=rng.uniform(0.35, 0.6))),
    "night": (None, None, _night),
    "nobody, plants": (
        None, None, lambda rng, spec: replace(spec, people=0.0, plants=2, plant_sway=1.0),
    ),
    "nobody, cars": (None, None, lambda rng, spec: replace(spec, people=0.0, occluders=0)),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Footage:
    """A scene's frames and what is true of them.

    Attributes
    ----------
    frames : list of (H, W, 3) uint8
    rate : float, frames per second
    scene : Scene
        With the true person heights.
    feet, heights : (n,) float64, pixels
        Rows of the feet, and heights, of everyone who is marked in any frame.
    counts : (n_frames,) int
    """

    frames: list[np.ndarray]
    rate: float
    scene: Scene
    feet: np.ndarray
    heights: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class Result:
    """What was found in one scene.

    Attributes
    ----------
    reliability : float
    error : float
        Logarithm of the estimated over the true height that has the same effect on a count as the errors at
        the places of all people; NaN where there is nobody.
    people, mae, mae_true : float
        Mean number of people; error of the counts with the estimated and with the true height.
    inside, inside_true : float
        Shares of the frames whose number of people the interval holds.
    """

    reliability: float
    error: float
    people: float
    mae: float
    mae_true: float
    inside: float
    inside_true: float


def spec_of(kind: str, seed: int, n_frames: int = N_FRAMES) -> SceneSpec:
    """The simulated scene of a kind and seed."""
    setting, size_wh, change = KINDS[kind]
    spec = random_spec(seed, setting=setting, size_wh=size_wh, n_frames=n_frames)
    spec = replace(spec, fps=RATE, light_drift=min(spec.light_drift, 0.02))
    return change(np.random.default_rng([seed, 991]), spec)


def simulated(kind: str, seed: int, n_frames: int = N_FRAMES) -> Footage:
    """Draw a simulated scene."""
    simulation = Simulation(spec_of(kind, seed, n_frames))
    spec = simulation.spec
    slope, intercept = simulation.height_line
    frames, feet, counts = [], [], []
    for frame in simulation.frames():
        marked = frame.boxes_xywh[frame.visible_share >= MARKED_SHARE]
        frames.append(frame.image_bgr)
        feet.append(marked[:, 1] + marked[:, 3])
        counts.append(len(marked))
    if kind == "nobody, cars":
        _add_cars(frames, spec, np.random.default_rng([seed, 5]))
    feet = np.concatenate(feet).astype(np.float64)
    scale = np.exp(SCALE_BIAS)
    rows = (max(0.45 * spec.size_wh[1], spec.far_row), float(spec.size_wh[1]))
    persons = [(spec.size_wh[0] / 2, row, scale * (slope * row + intercept)) for row in rows]
    scene = scene_from(spec.size_wh, simulation.roi_polygons, persons)
    return Footage(frames, spec.fps, scene, feet, scale * (slope * feet + intercept), np.array(counts))


def _add_cars(frames, spec, rng) -> None:
    """Draw cars that cross the scene, one from every eighth frame on, into its frames."""
    width, height = spec.size_wh
    cars = [
        (
            rng.uniform(0.8 * spec.far_row + 0.2 * height, 0.98 * height),
            rng.integers(0, len(frames)),
            rng.choice([-1, 1]),
            rng.integers(20, 230, 3).tolist(),
            rng.uniform(0.72, 0.95),
            rng.uniform(1.8, 2.8),
        )
        for _ in range(len(frames) // 8 + 2)
    ]
    for index, image in enumerate(frames):
        for foot, first, way, colour, persons, aspect in sorted(cars, key=lambda car: car[0]):
            tall = persons * (spec.height_slope * foot + spec.height_intercept)
            long = aspect * tall
            left = width / 2 + way * (index - first) * 0.11 * width - long / 2

            def box(x0, x1, y0, y1, fill, left=left, long=long, foot=foot, tall=tall, image=image):
                corners = (left + x0 * long, foot - y1 * tall), (left + x1 * long, foot - y0 * tall)
                cv2.rectangle(image, *(tuple(round(v) for v in corner) for corner in corners), fill, -1)

            box(0, 1, 0.12, 0.6, colour)
            box(0.2, 0.8, 0.6, 1, (60, 50, 45))
            for wheel in (0.12, 0.72):
                box(wheel, wheel + 0.16, 0, 0.26, (25, 25, 25))


def measured(footage: Footage, model: CounterModel) -> Result:
    """Estimate the person height in footage, and count with it and with the true one."""
    small = [for_estimation(frame) for frame in footage.frames]
    scene = estimate_scene(small, footage.scene.size_wh, footage.scene.polygons)
    found = [_counted(footage, one, model) for one in (scene, footage.scene)]
    (mae, inside), (mae_true, inside_true) = (_judged(*one, footage.counts) for one in found)
    return Result(
        scene.height_reliability,
        height_error(scene, footage.feet, footage.heights),
        float(footage.counts.mean()),
        mae,
        mae_true,
        inside,
        inside_true,
    )


def _counted(footage, scene, model):
    """Counts and the ends of their intervals."""
    pipeline = make_pipeline(model, scene, footage.rate)
    pipeline.learn(footage.frames, len(footage.frames) / footage.rate)
    measured = [pipeline.measure(frame) for frame in footage.frames]
    counts = model.predict(np.stack([one.features for one in measured]))
    seen = zip(counts, measured, strict=True)
    return counts, np.array([model.interval(count, scene, one.least_contrast) for count, one in seen])


def _judged(counts, ends, labels) -> tuple[float, float]:
    """Mean absolute error, and the share of labels inside the intervals."""
    inside = (ends[:, 0] <= labels) & (labels <= ends[:, 1])
    return float(np.abs(counts - labels).mean()), float(inside.mean())


def height_error(scene: Scene, feet: np.ndarray, heights: np.ndarray) -> float:
    """Logarithm of estimated over true height with the effect of all errors: counts go with its square."""
    if not len(feet):
        return np.nan
    found = np.clip(scene.line.slope * feet + scene.line.intercept, scene.line.smallest, scene.line.largest)
    return float(-0.5 * np.log(np.mean((heights / found) ** 2)))


def real(name: str, model: CounterModel) -> Result:
    """What is found in a real clip; its true heights are those of its boxes or of its perspective map."""
    dataset, frames = labelled(name)
    with open_source(dataset.source) as source:
        scene = estimated_scene(source)
    if dataset.boxes is not None:
        boxes = np.concatenate([boxes for boxes in dataset.boxes if boxes is not None])
        feet, heights = boxes[:, 1] + boxes[:, 3], boxes[:, 3]
        own = None
    else:
        own = import_scene(*dataset.scene_files)
        heads = np.concatenate([points for points in dataset.points if points is not None])
        rows = np.arange(own.size_wh[1])
        by_row = own.person_height[:, own.size_wh[0] // 2]
        heights = np.interp(heads[:, 1], np.maximum.accumulate(rows - 0.45 * by_row), by_row)
        feet = heads[:, 1] + 0.95 * heights
    found = evaluate(dataset, model, frames=frames, scene=scene)
    mae_true = inside_true = np.nan
    if own is not None:
        known = evaluate(dataset, model, frames=frames)
        mae_true, inside_true = known.metrics.mae, known.coverage
    return Result(
        scene.height_reliability,
        height_error(scene, feet, heights),
        float(found.labels.mean()),
        found.metrics.mae,
        mae_true,
        found.coverage,
        inside_true,
    )


def by_kind(results: dict[str, list[Result]]) -> Table:
    """A row for each kind of scene."""
    header = ["scenes", "n", "people", "reliability", "height, rms", "within 20 %", "MAE", "MAE, true height",
              "inside", "inside, true height"]  # fmt: skip
    rows = []
    for name, found in results.items():
        means = [
            float(np.mean([getattr(one, field) for one in found]))
            for field in ("people", "reliability", "mae", "mae_true", "inside", "inside_true")
        ]
        cells = [*means[:2], *_spread(found), *means[2:]]
        rows.append([name, len(found), *(None if np.isnan(cell) else cell for cell in cells)])
    notes = [
        "height, rms: of the logarithm of estimated over true person height, as counts feel it; within 20 %: "
        "share of the scenes where it is off by less; inside: share of the frames in the interval of 90 %."
    ]
    return Table("Estimated person heights by kind of scene", header, rows, notes, digits=2)


def by_reliability(found: list[Result]) -> Table:
    """A row for each range of reliability, of scenes with people."""
    header = ["reliability", "n", "height, rms", "within 20 %", "inside"]
    rows = []
    for low, high in pairwise(RELIABILITIES):
        part = [one for one in found if np.isfinite(one.error) and low <= one.reliability < high]
        if part:
            inside = float(np.mean([one.inside for one in part]))
            rows.append([f"{low:g} to {min(high, 1):g}", len(part), *_spread(part), inside])
    return Table("What the reliability is worth", header, rows, ["Simulated scenes with people."], digits=2)


def _spread(found) -> tuple[float, float]:
    """Root mean square of the height errors, and the share of those within the tolerance; NaN without any."""
    errors = np.array([one.error for one in found if np.isfinite(one.error)])
    if not len(errors):
        return np.nan, np.nan
    return float(np.sqrt(np.mean(errors**2))), float(np.mean(np.abs(errors) < TOLERANCE))


def results_of(kinds, seeds, n_frames: int, model: CounterModel) -> Iterator[tuple[str, int, Result]]:
    """Results of simulated scenes as they come: kind, seed, result."""
    for seed in seeds:
        for kind in kinds:
            yield kind, seed, measured(simulated(kind, seed, n_frames), model)


@click.command()
@click.argument("kinds", metavar="[KIND]...", nargs=-1, type=click.Choice([*KINDS, *FOOTAGE]))
@click.option("--scenes", default=4, show_default=True, type=click.IntRange(1), help="Scenes of each kind.")
@click.option("--first-seed", default=2000, show_default=True, help="Seed of the first scene of each kind.")
@click.option("--quick", is_flag=True, help=f"{QUICK_FRAMES} frames of each scene instead of {N_FRAMES}.")
def main(kinds: tuple[str, ...], scenes: int, first_seed: int, quick: bool) -> None:
    """Print how far estimated person heights are off in each KIND of scene or clip (all by default)."""
    model = default_model()
    kinds = kinds or (*KINDS, *FOOTAGE)
    n_frames = QUICK_FRAMES if quick else N_FRAMES
    results: dict[str, list[Result]] = {kind: [] for kind in kinds}
    seeds = range(first_seed, first_seed + scenes)
    for kind, seed, result in results_of([kind for kind in kinds if kind in KINDS], seeds, n_frames, model):
        results[kind].append(result)
        click.echo(
            f"{kind}, seed {seed}: reliability {result.reliability:.2f}, height {result.error:+.2f}, "
            f"MAE {result.mae:.2f} (true height {result.mae_true:.2f}) of {result.people:.1f} people, inside "
            f"{result.inside:.0%}",
            err=True,
        )
    simulations = [one for kind in kinds if kind in KINDS for one in results[kind]]
    try:
        for name in [kind for kind in kinds if kind in FOOTAGE]:
            results[name].append(real(name, model))
    except DataError as error:
        raise click.ClickException(str(error)) from error
    click.echo(by_kind(results).markdown())
    if simulations:
        click.echo(by_reliability(simulations).markdown())


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.perspective")
