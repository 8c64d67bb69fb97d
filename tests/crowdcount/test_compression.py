"""A model of similarities is compressed with little loss, explained by its frames, and refused otherwise."""

import json
from dataclasses import replace

import cv2
import numpy as np
import pytest

from crowdcount.arrays import load_arrays, save_arrays
from crowdcount.errors import ModelError
from crowdcount.learning.compression import SIZES, compress, compress_model
from crowdcount.learning.datasets import Dataset, load_dataset
from crowdcount.learning.explain import explain
from crowdcount.learning.training import train
from crowdcount.model import VERSION, load_model
from crowdcount.terminal import Terminal
from models import Correction, later_quantile
from models.predictor import standardised
from models.selection import SELECTIONS
from tests.crowdcount.helpers import quantile_of_blocks, run


@pytest.fixture(scope="module")
def frames():
    """Ready-made features of 60 frames, and counts that bend and saturate with them."""
    random = np.random.default_rng(0)
    features = random.uniform(0, 3, (60, 6))
    counts = 4 * np.tanh(features[:, 0]) + features[:, 1] ** 2 + random.normal(0, 0.2, 60)
    return Dataset(
        name="table",
        numbers=np.arange(60) + 1,
        counts=counts - counts.min(),
        features=features,
        feature_names=tuple(f"column{k}" for k in range(6)),
        feature_views=("size", "edges", "texture") * 2,
    )


@pytest.fixture(scope="module")
def rbf(frames):
    """A model of RBF kernels."""
    return train(frames, kernel="rbf").model


@pytest.fixture(scope="module")
def compressed(rbf):
    return compress(rbf)


def test_training_keeps_its_frames(rbf, frames):
    examples, regressor = rbf.examples, rbf.regressor
    assert examples.numbers.tolist() == list(range(1, 61))
    assert examples.frames.tolist() == list(range(60))
    assert (examples.labels == frames.counts).all()
    assert np.unique(examples.blocks).tolist() == list(range(examples.outputs.shape[1]))
    own = examples.outputs[np.arange(len(examples.rows)), examples.blocks]
    assert np.abs(own - examples.labels).mean() == pytest.approx(rbf.facts["cross_validation"]["mae"])
    expected = standardised(frames.features, regressor.mean, regressor.scale)
    np.testing.assert_allclose(examples.rows, expected, atol=1e-6)


def test_few_prototypes_do_nearly_as_well(compressed, rbf):
    full, chosen = compressed.full, compressed.chosen
    assert [size.prototypes for size in compressed.sizes] == list(SIZES)
    assert full.prototypes == len(rbf.regressor.expansions[0].support)
    assert full.metrics.mae == pytest.approx(rbf.facts["cross_validation"]["mae"])
    assert chosen.metrics.mae < 1.1 * full.metrics.mae
    assert chosen.prototypes <= 20 < full.prototypes
    assert chosen.kibibytes < full.kibibytes
    assert all(chosen.metrics.mae < error for error in chosen.selected.values())
    costs = [
        max(size.metrics.mae, np.hypot(full.metrics.mae, size.difference))
        + 0.001 * full.metrics.mae * size.prototypes
        for size in compressed.sizes
    ]
    assert compressed.sizes[int(np.argmin(costs))] is chosen


def test_the_replica_predicts_as_the_model(compressed, rbf, frames):
    small = compressed.model
    assert len(small.regressor.expansions[0].support) == compressed.chosen.prototypes
    difference = small.predict(frames.features) - rbf.predict(frames.features)
    assert np.abs(difference).mean() < 0.1 * np.abs(rbf.examples.labels - rbf.examples.labels.mean()).mean()
    assert small.examples is None
    assert small.facts["cross_validation"]["mae"] == compressed.chosen.metrics.mae
    assert 0 < small.quantile < np.inf


def test_a_block_is_judged_by_what_a_model_and_a_replica_that_have_not_seen_it_say(
    rbf, monkeypatch
):
    """Such models say 1, 4, 9, 16 and 25 people; a frame has half a square root more, one of the last 2."""
    monkeypatch.setattr("crowdcount.learning.compression.SIZES", (2, 1))
    said = np.arange(1.0, 6.0) ** 2
    examples = rbf.examples
    errors = np.where(examples.blocks == 4, 2.0, 0.5) * np.sqrt(said[examples.blocks])
    labels = said[examples.blocks] + errors
    known = replace(examples, labels=labels, outputs=np.tile(said, (len(labels), 1)))
    found = compress(replace(rbf, examples=known))
    for size in (found.full, *found.sizes):
        assert size.metrics.mae == pytest.approx(errors.mean())
        assert size.metrics.bias == pytest.approx(-errors.mean())
        assert all(error == pytest.approx(errors.mean()) for error in size.selected.values())
    assert found.chosen.prototypes == 1  # as more of them lower no error
    # a block that is four times as wrong as the others may be followed by one that is so again
    assert found.model.quantile == pytest.approx(later_quantile(2.0 * 4, 0.9, 0.0))


def test_a_replica_that_is_better_than_its_model_is_so_by_chance(rbf, monkeypatch):
    """Of one prototype it says what the labels are; of two, nearly what the model does."""
    monkeypatch.setattr("crowdcount.learning.compression.SIZES", (2, 1))
    labels = rbf.examples.labels
    said = labels + np.where(np.arange(len(labels)) % 2, 0.5, -0.5)
    outputs = np.tile(said[:, None], rbf.examples.outputs.shape[1])
    model = replace(rbf, examples=replace(rbf.examples, outputs=outputs))
    counts = {2: said + np.where(np.arange(len(labels)) % 4 < 2, 0.1, -0.1), 1: labels}
    selected = {(how, size): labels for how in SELECTIONS for size in counts}
    monkeypatch.setattr(
        "crowdcount.learning.compression._Task.held_out", lambda task: (counts, selected)
    )
    found = compress(model)
    assert [size.difference for size in (found.full, *found.sizes)] == pytest.approx([0.0, 0.1, 0.5])
    assert [size.metrics.mae for size in found.sizes] == pytest.approx([0.5, 0.0])
    assert found.chosen.prototypes == 2
    assert compress(model, 1).model.quantile == model.quantile  # though its own errors would allow for less


def test_a_replica_of_fewer_prototypes_has_wider_intervals(rbf, monkeypatch):
    monkeypatch.setattr("crowdcount.learning.compression.SIZES", (10, 1))
    found = []
    for price in (0.0, 100.0):
        monkeypatch.setattr("crowdcount.learning.compression.PRICE", price)
        found.append(compress(rbf))
    many, one = found
    assert (many.chosen.prototypes, one.chosen.prototypes) == (10, 1)
    assert one.chosen.metrics.mae > 1.5 * many.chosen.metrics.mae
    assert quantile_of_blocks(one.model) > 1.5 * quantile_of_blocks(many.model)


def test_a_number_of_prototypes_is_kept(rbf, tmp_path):
    rbf.save(tmp_path / "rbf.npz")
    found, written = compress_model(
        tmp_path / "rbf.npz", tmp_path / "four.npz", prototypes=4, plot=tmp_path / "four.svg",
        watcher=Terminal(quiet=True),
    )  # fmt: skip
    assert [size.prototypes for size in found.sizes] == [4, 3, 2, 1]
    loaded = load_model(written)
    assert loaded.prototypes.weights.shape == (4,)
    assert loaded.prototypes.numbers.shape == loaded.prototypes.similarities.shape
    assert (np.diff(loaded.prototypes.similarities, axis=1) <= 0).all()
    np.testing.assert_array_equal(loaded.prototypes.frames, found.model.prototypes.frames)
    assert "<svg" in (tmp_path / "four.svg").read_text()


def test_prototypes_of_a_corrected_model_weigh_as_its_counts_do(compressed):
    corrected = compressed.model.corrected(Correction(1.0, 2.0))
    np.testing.assert_allclose(corrected.prototypes.weights, 2 * compressed.model.prototypes.weights)


def test_what_cannot_be_compressed_is_said(trained, compressed, rbf):
    with pytest.raises(ModelError, match="train it with --kernel rbf"):
        compress(trained.model)
    with pytest.raises(ModelError, match="compressed already"):
        compress(compressed.model)
    with pytest.raises(ModelError, match="as recalibrated ones are, without its frames"):
        compress(rbf.corrected(Correction(1.0, 1.0)))
    with pytest.raises(ModelError, match="48 prototypes for a model of 60 training frames, got 49"):
        compress(rbf, 49)


def test_a_recalibrated_replica_weighs_its_prototypes_as_it_counts(compressed):
    corrected = compressed.model.corrected(Correction(1.0, 2.0))
    people = sum(view.coefficients for view in corrected.regressor.expansions)
    np.testing.assert_allclose(corrected.prototypes.weights, people)
    np.testing.assert_allclose(corrected.prototypes.weights, 2.0 * compressed.model.prototypes.weights)


def test_a_page_shows_the_frames_like_each_prototype(compressed, street, tmp_path, html_reader):
    explain(compressed.model, street.frames, tmp_path / "page.html")
    page = html_reader((tmp_path / "page.html").read_text(encoding="utf-8"))
    prototypes = compressed.model.prototypes
    pictures = page.all("img")
    assert [one["alt"] for one in pictures[:1]] == [
        f"frame {prototypes.numbers[np.argmax(np.abs(prototypes.weights)), 0]}"
    ]
    assert len(pictures) == prototypes.frames.size
    assert len(page.all("h2")) == len(prototypes.weights)


def test_footage_of_another_camera_explains_nothing(compressed, trained, street, tmp_path):
    model = replace(compressed.model, scene=trained.model.scene)
    explain(model, street.frames, tmp_path / "page.html")
    for path in street.frames.iterdir():
        cv2.imwrite(str(tmp_path / path.name), np.roll(cv2.imread(str(path)), (7, -12), (0, 1)))
    with pytest.raises(ModelError, match="shows another view than the model was trained on"):
        explain(model, tmp_path, tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()


def test_footage_that_cannot_explain_is_said(compressed, trained, make_street, tmp_path):
    with pytest.raises(ModelError, match="crowdcount compress"):
        explain(trained.model, tmp_path, tmp_path / "page.html")
    short = make_street(tmp_path / "short", n_frames=2)
    prototypes = compressed.model.prototypes
    later = replace(compressed.model, prototypes=replace(prototypes, frames=prototypes.frames + 2))
    for model in (compressed.model, later):
        with pytest.raises(ModelError, match="give the footage that it was trained on"):
            explain(model, short.frames, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("part", "name", "change"),
    [
        ("rbf", "examples_rows", lambda array: array[:, :-1]),
        ("rbf", "examples_blocks", lambda array: array * 0),
        ("rbf", "examples_frames", lambda array: array - 9),
        ("rbf", "examples_labels", lambda array: array * np.nan),
        ("rbf", "examples_outputs", None),
        ("compressed", "prototypes_weights", lambda array: array[:-1]),
        ("compressed", "prototypes_labels", lambda array: array[:, :1]),
        ("compressed", "prototypes_frames", lambda array: array - 99),
        ("compressed", "prototypes_numbers", lambda array: array.astype(float)),
    ],
)
def test_damaged_frames_in_a_file_are_refused(rbf, compressed, part, name, change, tmp_path):
    (rbf if part == "rbf" else compressed.model).save(tmp_path / "model.npz")
    arrays, meta = load_arrays(tmp_path / "model.npz", "model", VERSION)
    array = arrays.pop(name)
    if change is not None:
        arrays[name] = change(array)
    save_arrays(tmp_path / "model.npz", "model", VERSION, arrays, meta)
    with pytest.raises(ModelError, match="is not a model file"):
        load_model(tmp_path / "model.npz")


def test_the_commands(rbf, street, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rbf.save("rbf.npz")

    result = run("compress", "rbf.npz", "--prototypes", 2, "--json", "-q")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["prototypes"] == 2
    assert [size["prototypes"] for size in content["sizes"]] == [60, 2, 1]
    assert content["model"] == "rbf.compressed.npz"
    result = run("explain", "rbf.compressed.npz", street.frames)
    assert result.exit_code == 0, result.output
    assert "rbf.compressed.explained.html" in result.stdout
    text = run("compress", "rbf.npz", "--prototypes", 1, "-o", "one.npz", "-q").stdout
    assert "one.npz: 1 prototype, made" in text
    assert "k-medians" in text
    assert run("compress", "rbf.npz", "--prototypes", "some").exit_code == 2
    assert run("train", "x", "-m", "y.npz", "--kernel", "rbf", "--regressor", "r3").exit_code == 2
    for refused, said in (
        (("compress", "rbf.npz", "-o", "rbf.npz"), "written over"),
        (("explain", "rbf.npz", street.frames), "compressed model"),
        (("explain", "one.npz", "one.npz", "-o", "page.png"), ".html"),
    ):
        result = run(*refused)
        assert result.exit_code == 1
        assert said in result.stderr


def test_malls_model_needs_20_prototypes_at_most(data_dir, monkeypatch):
    """Within 2 % of its error, on the published features; few settings are tried, to be done soon."""
    monkeypatch.setattr("crowdcount.learning.regressors.WIDTHS", (0.1,))
    monkeypatch.setattr("crowdcount.learning.regressors.RBF_LAMBDAS", (1e-5,))
    monkeypatch.setattr("crowdcount.learning.regressors.N_REFINEMENTS", 0)
    dataset = load_dataset(data_dir / "mall" / "mall_feat.mat")
    model = train(dataset, frames="1-800", kernel="rbf").model
    found = compress(replace(model, facts={}), 20)
    assert found.chosen.metrics.mae < 1.02 * found.full.metrics.mae
    assert found.chosen.metrics.mae < min(found.chosen.selected.values())
