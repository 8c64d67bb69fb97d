"""A trained counter: what turns measurements into counts with intervals, and its file."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, ValidationError

from models import Correction, CountPredictor, CurvePredictor, count_interval, count_scale
from models.predictor import checked_array

from .arrays import jsonable, load_arrays, refuse_other_kind, save_arrays
from .errors import ModelError, SceneError
from .profile import scaled_to
from .results import DIRECTIONS
from .scene import Scene, scene_of
from .scene.description import Strict, first_of
from .storage import check_writable, refuse_to_replace

VERSION = 1
#: What stands for the bundled model in the place of a model file's name.
BUNDLED = "bundled"
NO_DIRECTIONS = "the model knows no directions; train one with --directions"
NO_PROFILE = "the model knows no density over depth; train one with --target profile"
#: Standard deviation of the logarithm of the factor by which a model for any scene counts too many or too few
#: throughout a scene that it has not seen (docs/decisions/2026-11-26-intervals.md).
SCENE_UNCERTAINTY = 0.2
#: Where pixels must differ by a larger share of their brightness to be foreground, as by night, people are
#: missed: that logarithm may be as much larger (docs/decisions/2026-11-28-nights.md).
CLEAR_CONTRAST = 0.14
#: Beyond this share so many may be missed, a third and more, that frames are flagged.
LOW_CONTRAST = 0.2
#: Standard deviation of the logarithm of a person height that cannot be relied on at all; less in proportion
#: with 1 - reliability. So the interval of 90 % held 90 % of the frames of 86 simulated scenes with estimated
#: heights, before the factor above was allowed for (docs/decisions/2026-11-22-person-height.md).
HEIGHT_UNCERTAINTY = 0.6
#: A file with a polynomial kernel of a higher degree is no model, but meant to exhaust the machine.
_MAX_DEGREE = 16
#: Nor is one with people who are taller, pixels, at the size at which they are measured.
_MAX_PERSON_HEIGHT = 1000
#: A frame is flagged where more than this share of its `EdgeRange` columns are far beyond their ranges: less
#: than .1 are in held-out frames as they are, at worst .35; up to .56 in a substream of 352x288; .65 and more
#: in frames so far out of focus that too few are counted (docs/decisions/2026-11-27-unlike.md).
MOST_BEYOND = 0.6
#: Of a model, what its file's description has as it is.
_PLAIN = (
    "per_cell", "level", "usual_outside", "rate", "offset", "offset_from", "floor", "person_height",
    "needs_colours",
)  # fmt: skip
#: Parts of a model that hold training frames.
_FRAME_PARTS = ("examples", "prototypes")
#: z value of a two-sided interval of 90 %.
_Z = 1.645


def doubt_in_scene(height_reliability: float, least_contrast: float = 0.0) -> float:
    """`count_interval`'s doubt of 90 % for a model for any scene.

    Parameters
    ----------
    height_reliability : float
        Of person heights, 0 to 1.
    least_contrast : float
        See `Measurement`.
    """
    of_height = 2 * HEIGHT_UNCERTAINTY * (1 - height_reliability)
    of_contrast = math.log(max(1.0, least_contrast / CLEAR_CONTRAST))
    return _Z * math.hypot(SCENE_UNCERTAINTY, of_height, of_contrast)


@dataclass(frozen=True, eq=False)
class Examples:
    """The labelled training frames, which a model of similarities keeps so that it can be compressed.

    Attributes
    ----------
    rows : (n, d) float32
        Their features as the regressor's expansions see them: standardised and clipped.
    numbers, frames : (n,) int64
        The frames in the data set's own numbering, and counted from 0 in its source.
    labels : (n,) float64
        People in them.
    blocks : (n,) int64
        Block of the cross-validation that each frame belongs to, from 0.
    outputs : (n, n_blocks) float64
        Counts by the models that were fitted without each block.
    """

    rows: np.ndarray
    numbers: np.ndarray
    frames: np.ndarray
    labels: np.ndarray
    blocks: np.ndarray
    outputs: np.ndarray

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_columns: int) -> "Examples":
        """ValueError when they contradict each other."""
        rows = checked_array(arrays, "rows", (None, n_columns))
        n = len(rows)
        numbers, frames, blocks = (
            checked_array(arrays, key, (n,), kind="i") for key in ("numbers", "frames", "blocks")
        )
        outputs = checked_array(arrays, "outputs", (n, None))
        found = np.unique(blocks)
        if not np.array_equal(found, np.arange(outputs.shape[1])) or len(found) < 2:
            raise ValueError("expected in 'blocks' every column number of 'outputs', at least two")
        if (frames < 0).any():
            raise ValueError("expected frames from 0 in 'frames'")
        labels = checked_array(arrays, "labels", (n,))
        return cls(rows=rows, numbers=numbers, frames=frames, labels=labels, blocks=blocks, outputs=outputs)


@dataclass(frozen=True, eq=False)
class Prototypes:
    """The training frames that are most similar to each virtual prototype of a compressed model, k of them.

    Attributes
    ----------
    weights : (m,) float64
        Coefficient of each prototype's similarity: people.
    numbers, frames : (m, k) int64
        As in `Examples`, most similar first.
    labels, similarities : (m, k) float64
    """

    weights: np.ndarray
    numbers: np.ndarray
    frames: np.ndarray
    labels: np.ndarray
    similarities: np.ndarray

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_prototypes: int) -> "Prototypes":
        """ValueError when they contradict each other or the regressor."""
        numbers = checked_array(arrays, "numbers", (n_prototypes, None), kind="i")
        frames = checked_array(arrays, "frames", numbers.shape, kind="i")
        if (frames < 0).any():
            raise ValueError("expected frames from 0 in 'frames'")
        weights = checked_array(arrays, "weights", (n_prototypes,))
        labels, similarities = (
            checked_array(arrays, key, numbers.shape) for key in ("labels", "similarities")
        )
        return cls(weights, numbers, frames, labels, similarities)


@dataclass(frozen=True, eq=False)
class Fullness:
    """How full of people a frame looks, without a count: a weighted sum of its columns.

    Attributes
    ----------
    weights : (d,) float64
        Of the columns: how each goes with the labels, per its standard deviation.
    most : float
        A frame with a larger sum looks fuller than those that the model learnt from.
    """

    weights: np.ndarray
    most: float

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], most: float, n_columns: int) -> "Fullness":
        """ValueError when they contradict each other."""
        return cls(checked_array(arrays, "weights", (n_columns,)), most)


@dataclass(frozen=True, eq=False)
class EdgeRange:
    """How strong the edges of the scene are in each part of it, people or not.

    Who is there changes them here and there. Where they all are weaker or stronger than ever, the camera is
    out of focus, its lens dirty, or the picture encoded otherwise than any from which it learnt.

    Attributes
    ----------
    columns : (k,) int64
        Columns of a frame that tell areas of strong gradients, at least one.
    low, high : (k,) float64
        Their ranges in the labelled frames as they are, without blurred or sharpened copies.
    """

    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def beyond(self, features: np.ndarray) -> np.ndarray:
        """Share (n,) of the columns that are beyond their range by more than its width in frames (n, d)."""
        values, width = features[:, self.columns], self.high - self.low
        return ((values < self.low - width) | (values > self.high + width)).mean(axis=1)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_columns: int) -> "EdgeRange":
        """ValueError when they contradict each other."""
        columns = checked_array(arrays, "columns", (None,), kind="i")
        if not len(columns) or columns.min() < 0 or columns.max() >= n_columns:
            raise ValueError(f"expected column numbers from 0 to {n_columns - 1} in 'edges_columns'")
        low, high = (checked_array(arrays, key, columns.shape) for key in ("low", "high"))
        if (low > high).any():
            raise ValueError("expected 'edges_low' up to 'edges_high'")
        return cls(columns, low, high)


@dataclass(frozen=True, eq=False)
class CounterModel:
    """A regressor with all that belongs to it.

    Attributes
    ----------
    regressor : CountPredictor
        Maps a row of features to a number of people.
    columns : tuple of str
        Name of each column; measurements with other columns are refused.
    per_cell : bool
        True when a row is one cell of the scene and the count is the sum over the cells: such a model counts
        in any scene. False when a row is a whole frame of the one scene it was trained on.
    quantile : float
        Half width of the interval in units of `models.intervals.count_scale`; infinite when unknown.
    level : float
        Share of frames whose true count lies in the interval.
    usual_outside : float
        Share of columns outside their training range beyond which a frame is flagged.
    fullness : Fullness or None
        How full a frame looks, and what is fuller than all that it learnt from; None of models that count per
        cell, and in files of earlier versions.
    most : float
        A larger count is of more people than in any frame that it learnt from; infinite of models that count
        per cell, and in files of earlier versions.
    edges : EdgeRange or None
        How strong the scene's edges are; None of models of ready-made features and those that count per cell,
        and in files of earlier versions.
    scene : Scene or None
        The scene it was trained or recalibrated on.
    rate : float or None
        Frames per second it was trained on.
    facts : dict
        How it was trained, for people: JSON-able.
    profile : CurvePredictor or None
        From a frame's features to its density over the depth of the scene; None when that was not trained.
    examples : Examples or None
        What `crowdcount.learning.compression` needs; None in most models.
    prototypes : Prototypes or None
        What `crowdcount.learning.explain` shows; None unless it is compressed.
    offset, floor : float
        Of recalibrated models: people to add to what the regressor counts, and the least count; else 0.
    offset_from : float
        What the regressor counts from which on all of a positive offset is added; below it, in proportion.
    person_height : float or None
        Typical height of a person at the size at which its features are measured, pixels; None for
        ready-made features, and in files of earlier versions, which measured footage otherwise.
    needs_colours : bool
        Whether frames are unlike those that it learnt from if they are grey where its view has colours, or
        the other way round. False where it learnt from both, or from ready-made features, of models that
        count per cell, and in files of earlier versions.
    directions : (CountPredictor, CountPredictor) or None
        From the features of the foreground that moves right, and of that which moves left, to the numbers of
        people who do; None when that was not trained.
    """

    regressor: CountPredictor
    columns: tuple[str, ...]
    per_cell: bool = False
    quantile: float = np.inf
    level: float = 0.9
    usual_outside: float = 1.0
    fullness: Fullness | None = None
    most: float = np.inf
    edges: EdgeRange | None = None
    scene: Scene | None = None
    rate: float | None = None
    facts: dict = field(default_factory=dict)
    profile: CurvePredictor | None = None
    examples: Examples | None = None
    prototypes: Prototypes | None = None
    offset: float = 0.0
    offset_from: float = 0.0
    floor: float = 0.0
    person_height: float | None = None
    needs_colours: bool = False
    directions: tuple[CountPredictor, CountPredictor] | None = None

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise ModelError unless these are the model's columns."""
        if tuple(columns) == self.columns:
            return
        known = set(self.columns)
        odd = next((name for name in columns if name not in known), None)
        what = f"such as {odd!r}" if odd else "in another order or number"
        raise ModelError(
            f"the model was trained on {len(self.columns)} other columns of features than these "
            f"{len(columns)} ({what}); train it again with this version on such data"
        )

    def footage_height(self) -> float:
        """`person_height` of a model that was trained on footage; ModelError when it is not known."""
        if self.person_height is None:
            raise ModelError(
                "the model was trained on ready-made features, or on footage as an earlier version measured "
                "it; train it again on footage"
            )
        return self.person_height

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Counts (n,) for features (n, d), or (n, n_cells, d) of a model that counts per cell.

        A cell without foreground holds nobody, whatever the regressor's intercept says.
        """
        if self.per_cell:
            in_cells = np.zeros(features.shape[:2])
            occupied = features.any(axis=2)
            if occupied.any():
                in_cells[occupied] = self.regressor.predict(features[occupied])
            counts = in_cells.sum(axis=1)
        else:
            counts = self.regressor.predict(features)
        offset = self.offset
        if self.offset_fades:
            offset = offset * np.clip(counts / self.offset_from, 0.0, 1.0)
        return np.maximum(offset + counts, self.floor)

    @property
    def offset_fades(self) -> bool:
        """Whether less is added to smaller counts, see `offset_from`."""
        return self.offset > 0 and self.offset_from > 0

    def corrected(self, correction: Correction, least: float = 0.0) -> "CounterModel":
        """The model that counts `correction(unfaded(count))` where this one counts `count`, `least` or more.

        Below, no label tells of the correction, and nobody is where nothing is: a positive offset falls off
        to 0 with the count. It keeps no examples: their labels are not what it counts.
        """
        scale, prototypes = correction.scale, self.prototypes
        known_from = self._uncorrected(least)
        if self.offset:  # labels of an earlier correction told of fewer people
            known_from = min(known_from, self.offset_from)
        offset, offset_from = correction.offset + scale * self.offset, max(0.0, scale * known_from)
        if prototypes is not None:
            prototypes = replace(prototypes, weights=scale * prototypes.weights)
        return replace(
            self,
            regressor=self.regressor.scaled(scale),
            offset=offset,
            offset_from=offset_from,
            floor=0.0 if offset_from > 0 else float(correction(self.floor)),
            most=float(correction(self.most)),
            examples=None,
            prototypes=prototypes,
        )

    def unfaded(self, count: float) -> float:
        """What it would count in the place of a count if all of a positive offset were added to any."""
        return self._uncorrected(count) + self.offset if self.offset_fades else count

    def _uncorrected(self, count: float) -> float:
        """What the regressor counts, at the least, where the model counts so many people."""
        if count <= self.floor:
            return 0.0
        if self.offset_fades and count < self.offset + self.offset_from:
            return count * self.offset_from / (self.offset + self.offset_from)
        return count - self.offset

    def predict_profile(self, features: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Densities over depth (n, m), whose integrals are the counts (n,), for features as in `predict`.

        ModelError when the model has no profile.
        """
        if self.profile is None:
            raise ModelError(NO_PROFILE)
        return scaled_to(self.profile.predict(features), counts, self.profile.center)

    def predict_directions(self, features: np.ndarray) -> tuple[float, float]:
        """Numbers of right- and left-moving people for the features (2, d) of what moves so.

        ModelError when the model has no directions, or they were trained on other features.
        """
        if self.directions is None:
            raise ModelError(NO_DIRECTIONS)
        if features.shape[1] != self.directions[0].n_columns:
            raise ModelError(
                f"the model's directions were trained on {self.directions[0].n_columns} columns of features, "
                f"found {features.shape[1]}; train it again with this version"
            )
        counts = (one.predict(row[None])[0] for one, row in zip(self.directions, features, strict=True))
        return tuple(float(count) for count in counts)

    @property
    def strongest_density(self) -> float:
        """Density that pictures show in the strongest colour: twice the largest of the mean profile."""
        return 2.0 * float(self.profile.center.max()) or 1.0

    def outside(self, features: np.ndarray) -> np.ndarray:
        """Share (n,) of the columns outside their training range, for features as in `predict`."""
        rows = features.reshape(-1, features.shape[-1])
        return self.regressor.outside_range(rows).reshape(len(features), -1).mean(axis=1)

    def scene_for(self, scene: Scene | None) -> Scene | None:
        """The given scene, or its own: whoever trained with a scene file often counts with it too, so that a
        given one like its own has its view."""
        return self.scene if scene is None else scene.knowing(self.scene)

    def is_for(self, scene: Scene | None) -> bool:
        """Whether it counts in a scene: any, or the region and the heights in which it learnt. None: of
        ready-made features."""
        return self.per_cell or self.scene is None or scene is None or scene.is_like(self.scene)

    def is_outside(self, features: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
        """Whether (n,) bool frames are unlike those that it learnt from, so that their count is extrapolated:
        more columns than usual lie outside their range, the frame looks fuller than all of those or is
        counted to have more people, or the whole scene is sharper or less sharp.

        Parameters
        ----------
        features : (n, d) or (n, n_cells, d)
        counts : (n,), optional
            What `predict` tells of them, where that is known.
        """
        counts = self.predict(features) if counts is None else counts
        is_outside = (self.outside(features) > self.usual_outside) | (counts > self.most)
        if self.fullness is not None:
            is_outside |= features @ self.fullness.weights > self.fullness.most
        if self.edges is not None:
            is_outside |= self.edges.beyond(features) > MOST_BEYOND
        return is_outside

    @property
    def trusts_heights(self) -> bool:
        """Whether its counts are as good as the person heights of the scene that they are made in: those of a
        model that counts in any scene and was not recalibrated in one."""
        return self.per_cell and self.scene is None

    def interval(self, count: float, scene: Scene, least_contrast: float = 0.0) -> tuple[float, float]:
        """Lower and upper end for a count in a scene, in a frame of a `Measurement.least_contrast`.

        A model that counts in any scene, and was not recalibrated in this one, may count by some factor too
        many or too few there throughout; where people hardly stand out, too few; and it trusts the person
        heights, with whose square counts go.
        """
        above = below = 0.0
        if self.trusts_heights:
            below = doubt_in_scene(scene.height_reliability)
            above = doubt_in_scene(scene.height_reliability, least_contrast)
        low, _ = count_interval(np.float64(count), self.quantile, below)
        _, high = count_interval(np.float64(count), self.quantile, above)
        return float(low), float(high)

    def half_width(self, counts: np.ndarray) -> float:
        """Half width of its intervals in units of `models.intervals.count_scale`.

        Of a model for any scene, the mean of what lies above the counts (n,) where person heights are known.
        """
        if not self.trusts_heights:
            return self.quantile
        _, high = count_interval(counts, self.quantile, doubt_in_scene(1.0))
        return float(np.mean((high - counts) / count_scale(counts)))

    def save(self, path: str | Path, kind: str = "model") -> None:
        """Write the model to one .npz file of arrays and JSON; OutputError when that fails.

        An "alarm" is kept in the same way: its regressor's values are no counts.
        """
        arrays = {}

        def kept(name: str, parts: Mapping[str, np.ndarray], described: object = True) -> object:
            """Keep arrays of a part of the model; returns how that is described."""
            arrays.update({f"{name}_{key}": array for key, array in parts.items()})
            return described

        meta = {
            "columns": list(self.columns),
            **{name: getattr(self, name) for name in _PLAIN},
            "quantile": self.quantile if np.isfinite(self.quantile) else None,
            "facts": jsonable(self.facts),
            "regressor": kept("regressor", *self.regressor.to_arrays()),
            "scene": None if self.scene is None else kept("scene", *self.scene.to_arrays()),
        }
        for name in _FRAME_PARTS:
            part = getattr(self, name)
            meta[f"has_{name}"] = part is not None and kept(name, vars(part))
        if self.fullness is not None:
            arrays["fullness_weights"], meta["fullest"] = self.fullness.weights, self.fullness.most
        if np.isfinite(self.most):
            meta["most"] = self.most
        if self.edges is not None:
            meta["has_edges"] = kept("edges", vars(self.edges))
        if self.profile is not None:
            meta["profile"] = kept("profile", *self.profile.to_arrays())
        if self.directions is not None:
            pairs = zip(DIRECTIONS, self.directions, strict=True)
            meta["directions"] = {name: kept(name, *one.to_arrays()) for name, one in pairs}
        save_arrays(path, kind, VERSION, arrays, meta)


class _Kernel(Strict):
    kernel: Literal["linear", "poly", "polynomial", "rbf"]
    gamma: float = Field(gt=0)
    coef0: float
    degree: int = Field(ge=1, le=_MAX_DEGREE)


class _View(_Kernel):
    has_support: bool


class _Regressor(Strict):
    center: float
    views: tuple[_View, ...] = Field(min_length=1)


class _Directions(Strict):
    right: _Regressor
    left: _Regressor


class _Meta(Strict):
    columns: tuple[str, ...] = Field(min_length=1, max_length=100_000)
    per_cell: bool
    quantile: float | None = Field(ge=0)
    level: float = Field(gt=0, lt=1)
    usual_outside: float = Field(ge=0, le=1)
    rate: float | None = Field(gt=0)
    offset: float = 0.0
    offset_from: float = Field(default=0.0, ge=0)
    floor: float = Field(default=0.0, ge=0)
    person_height: float | None = Field(default=None, gt=0, le=_MAX_PERSON_HEIGHT)
    needs_colours: bool = False
    facts: dict
    regressor: _Regressor
    scene: dict | None
    profile: _Kernel | None = None
    has_examples: bool = False
    has_prototypes: bool = False
    directions: _Directions | None = None
    fullest: float | None = None
    most: float | None = Field(default=None, ge=0)
    has_edges: bool = False


def check_model_file(path: str | Path, *used: str | Path | None, kind: str = "model") -> None:
    """OutputError where a model of a kind, see `CounterModel.save`, cannot be written, or would replace a
    file that is `used` otherwise, or one that is no such model."""
    refuse_to_replace(path, *used)
    check_writable(path, (".npz",))
    refuse_other_kind(path, kind)


def load_model(path: str | Path, kind: str = "model") -> CounterModel:
    """Read a file of `CounterModel.save` of that kind.

    Raises
    ------
    ModelError
        One line: the file is missing, truncated, foreign, newer or hostile.
    """
    arrays, content = load_arrays(path, kind, VERSION, ModelError)
    try:
        meta = _Meta.model_validate_json(json.dumps(content))
        parts = _parts_of(meta, arrays)
        scene = None if meta.scene is None else scene_of(_part(arrays, "scene_"), meta.scene, path)
    except SceneError as error:
        raise ModelError(f"the model file holds no sound scene: {error}") from None
    except ValidationError as error:
        raise ModelError(f"{path} is not a model file ({first_of(error)}); train it again") from None
    except ValueError as error:
        raise ModelError(f"{path} is not a model file ({error}); train it again") from None
    return CounterModel(
        columns=meta.columns,
        **{name: getattr(meta, name) for name in _PLAIN},
        quantile=np.inf if meta.quantile is None else meta.quantile,
        most=np.inf if meta.most is None else meta.most,
        scene=scene,
        facts=meta.facts,
        **parts,
    )


def _parts_of(meta: _Meta, arrays: Mapping[str, np.ndarray]) -> dict[str, object]:
    """The parts of a model that are made of arrays, but for the scene, by its attributes' names; ValueError
    when they contradict each other."""
    n_columns = len(meta.columns)
    regressor = CountPredictor.from_arrays(_part(arrays, "regressor_"), meta.regressor.model_dump())
    if regressor.n_columns != n_columns:
        raise ValueError(f"expected {n_columns} columns, found {regressor.n_columns}")
    parts = {"regressor": regressor}
    if meta.profile is not None:
        profile = CurvePredictor.from_arrays(_part(arrays, "profile_"), meta.profile.model_dump())
        if profile.n_columns != n_columns or meta.per_cell:
            raise ValueError(f"the profile does not fit the {n_columns} columns")
        parts["profile"] = profile
    if meta.has_examples:
        parts["examples"] = Examples.from_arrays(_part(arrays, "examples_"), n_columns)
    if meta.has_prototypes:
        size = len(regressor.expansions[0].coefficients)
        parts["prototypes"] = Prototypes.from_arrays(_part(arrays, "prototypes_"), size)
    if meta.directions is not None:
        right, left = parts["directions"] = tuple(
            CountPredictor.from_arrays(_part(arrays, f"{name}_"), part)
            for name, part in meta.directions.model_dump().items()
        )
        if right.n_columns != left.n_columns:
            raise ValueError("the two directions differ in their columns")
    if meta.fullest is not None:
        if meta.per_cell:
            raise ValueError("a model that counts per cell knows no frame's fullness")
        parts["fullness"] = Fullness.from_arrays(_part(arrays, "fullness_"), meta.fullest, n_columns)
    if meta.has_edges:
        if meta.per_cell:
            raise ValueError("a model that counts per cell knows no scene's edges")
        parts["edges"] = EdgeRange.from_arrays(_part(arrays, "edges_"), n_columns)
    return parts


def default_model() -> CounterModel:
    """The bundled model, trained on simulated scenes alone: counts in any scene (docs/default-model.md)."""
    with resources.as_file(resources.files("crowdcount") / "default-model.npz") as path:
        return load_model(path)


def given_model(given: CounterModel | str | Path) -> CounterModel:
    """A model, or what its file holds; see `load_model`."""
    return given if isinstance(given, CounterModel) else load_model(given)


def _part(arrays, prefix):
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
