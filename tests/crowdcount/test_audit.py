"""Wrong labels are found, ranked and shown; a page opens in a parser and in a browser."""

import base64
import csv
import re
from dataclasses import replace

import cv2
import numpy as np
import pytest

from crowdcount.learning.audit import AUDIT_COLUMNS, Audit, audit_labels, write_audit_page, write_audit_table
from crowdcount.learning.datasets import Dataset
from crowdcount.learning.fitting import Fitting, RemovedLabel
from crowdcount.learning.regressors import HuberLossSetting
from crowdcount.learning.training import train
from crowdcount.scene import scene_from

#: Frame, and the wrong count it is given; 500 + row in the data set's own numbering.
WRONG = {17: 12.0, 55: 0.0, 56: 40.0, 102: 25.0, 181: 1.0}
FIRST = 501


def linear(wrong=WRONG):
    """200 rows of ready-made features whose counts are linear in them, but for noise and wrong labels."""
    rng = np.random.default_rng(0)
    features = rng.uniform(0, 10, (200, 6))
    counts = features @ [1, 0, 0.5, 0, 0.3, 0] + rng.normal(0, 0.2, 200)
    for row, count in wrong.items():
        counts[row] = count
    return Dataset(
        name="<table>",
        numbers=np.arange(FIRST, FIRST + 200),
        counts=counts,
        features=features,
        feature_names=tuple("abcdef"),
        feature_views=("size", "edges", "texture") * 2,
    )


@pytest.fixture(scope="module")
def found():
    """An audit of ready-made features."""
    return audit_labels(linear())


@pytest.fixture(scope="module")
def clip(street):
    """A street with heads and boxes, and an audit of two of its frames, as if they stood out."""
    points = [np.array([[60.5, 40.5], [200.5, 90.5]])] * 60
    boxes = [np.array([[100.0, 60.0, 20.0, 50.0]])] * 60
    dataset = replace(street.dataset(), points=tuple(points), boxes=tuple(boxes))
    polygon = ((20, 0), (239, 0), (239, 179), (20, 179))
    removed = (RemovedLabel(30, 11.0, 3.2, 1), RemovedLabel(7, 0.0, 6.1, 2))
    counts = street.counts.astype(float)
    scene = scene_from((240, 180), [polygon], [(100, 60, 25), (100, 180, 55)])
    setting = HuberLossSetting(1, 1)
    return dataset, Audit(
        name=dataset.name,
        removed=removed,
        numbers=np.arange(60),
        labels=counts,
        predictions=counts,
        setting=setting,
        scene=scene,
        seconds=1.0,
        n_lost_labels=3,
        n_spared_labels=0,
    )


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def images(text):
    """Pixels of the JPEG pictures in a page."""
    found = re.findall(r"data:image/jpeg;base64,([^\"]+)", text)
    return [cv2.imdecode(np.frombuffer(base64.b64decode(one), np.uint8), cv2.IMREAD_COLOR) for one in found]


def amber(image):
    """Where the colour of the annotations is."""
    return np.abs(image.astype(int) - (60, 175, 255)).sum(axis=2) < 90


class TestAudit:
    def test_finds_the_wrong_labels_oddest_first(self, found):
        numbers = [one.number for one in found.removed]
        assert {FIRST + row for row in WRONG} <= set(numbers)
        assert len(numbers) <= len(WRONG) + 2
        refinements = [one.refinement for one in found.removed]
        assert refinements == sorted(refinements)
        truth = linear({}).counts
        for one in found.removed[: len(WRONG)]:
            assert one.prediction == pytest.approx(truth[one.number - FIRST], abs=1)
            assert one.prediction == found.predictions[one.number - FIRST]
        assert f"{len(numbers)} of 200 labels stand out" in found.verdict

    def test_takes_the_setting_that_training_takes_but_always_prunes(self, found):
        training = train(linear())
        assert (found.setting.coef0, found.setting.lam) == (training.setting.coef0, training.setting.lam)
        assert found.setting.n_refinements > 0

    def test_clean_labels_stay(self):
        audit = audit_labels(linear({}))
        assert len(audit.removed) <= 2

    def test_a_label_that_others_predict_does_not_stand_out(self, found, monkeypatch):
        odd = found.removed[0]
        like = [replace(odd, number=k, label=odd.prediction + by) for k, by in enumerate((0, 0.4, -0.6))]
        monkeypatch.setattr(Fitting, "removed", lambda *_: (odd, *like))
        assert audit_labels(linear()).removed == (odd, like[2])

    def test_frames_choose_by_the_data_sets_own_numbers(self):
        audit = audit_labels(linear(), frames="541-640")
        assert audit.numbers.tolist() == list(range(541, 641))
        assert {556, 557, 603} <= {one.number for one in audit.removed}


    def test_a_label_is_judged_by_models_that_have_not_seen_its_block(self):
        """Of one day all counts are 4 too high, which only a column of that day tells: others cannot know."""
        dataset = linear({})
        is_odd = np.arange(200) // 40 == 2
        features = np.column_stack([dataset.features, is_odd])
        audit = audit_labels(
            replace(
                dataset,
                counts=dataset.counts + 4 * is_odd,
                features=features,
                feature_names=tuple("abcdefg"),
                feature_views=(*dataset.feature_views, "size"),
            )
        )
        missing = audit.labels - audit.predictions
        assert missing[is_odd].min() > 2
        assert np.abs(missing[~is_odd]).mean() < 1


class TestTable:
    def test_ranked_rows(self, found, tmp_path):
        write_audit_table(found, tmp_path / "a.csv")
        header, *lines = rows(tmp_path / "a.csv")
        assert header == list(AUDIT_COLUMNS)
        assert [int(line[0]) for line in lines] == list(range(1, len(found.removed) + 1))
        for line, one in zip(lines, found.removed, strict=True):
            assert (int(line[1]), float(line[2]), int(line[4])) == (one.number, one.label, one.refinement)
            assert float(line[3]) == pytest.approx(one.prediction, abs=1e-4)

    def test_nothing_that_stands_out_is_a_header(self, found, tmp_path):
        write_audit_table(replace(found, removed=()), tmp_path / "a.csv")
        assert rows(tmp_path / "a.csv") == [list(AUDIT_COLUMNS)]


class TestPage:
    @pytest.fixture
    def text(self, clip, tmp_path):
        dataset, audit = clip
        write_audit_page(audit, dataset, tmp_path / "a.html")
        return (tmp_path / "a.html").read_text(encoding="utf-8")

    def test_shows_the_frames_with_region_and_annotations(self, text, street):
        pictures = images(text)
        assert [one.shape for one in pictures] == [(180, 240, 3)] * 2
        for number, shown in zip((30, 7), pictures, strict=True):
            frame = cv2.imread(str(street.frames / f"{number:04}.jpg"))
            assert amber(shown)[40, 60]
            assert amber(shown)[90, 200]
            edge = np.s_[60, 100:119]  # the box's upper one; its colour is blurred by JPEG
            assert np.abs(shown[edge].astype(int) - frame[edge]).mean() > 15
            assert not amber(frame)[[40, 90], [60, 200]].any()
            ratio = shown[:, :14].mean() / frame[:, :14].mean()
            assert ratio == pytest.approx(0.6, abs=0.03)  # outside the region
            inside = np.s_[120:175, 30:235]
            assert np.abs(shown[inside].astype(int) - frame[inside]).mean() < 4

    def test_is_read_by_a_parser(self, text, html_reader):
        read = html_reader(text)
        assert len(read.all("img")) == 3
        assert read.all("img")[1]["alt"] == "frame 30"
        said = " ".join(read.texts)
        assert "2 of 60 labels stand out" in said
        assert re.search(r"1 +30 +11 +3.2 +1", " ".join(said.split()))

    def test_ready_made_features_have_no_pictures(self, found, html_reader, tmp_path):
        write_audit_page(found, linear(), tmp_path / "a.html")
        read = html_reader((tmp_path / "a.html").read_text(encoding="utf-8"))
        said = " ".join(read.texts)
        assert "Audit of the labels of <table>" in said
        assert "There are no pictures: the data set holds ready-made features" in said
        assert len(read.all("img")) == 1  # the plot
        assert len(read.all("tr")) == len(found.removed) + 1

    def test_the_region_is_where_a_moved_camera_shows_it(self, clip):
        _, audit = clip
        moved = np.full((60, 3, 3), np.nan)
        moved[30] = [[1, 0, 0.1], [0, 1, 0], [0, 0, 1]]
        knocked = replace(audit, moved=moved)
        assert knocked.region_in(7) is audit.region_in(7) is audit.scene.roi
        np.testing.assert_array_equal(knocked.region_in(30)[90], np.arange(240) >= 44)

    def test_nothing_that_stands_out_is_said(self, clip, html_reader, tmp_path):
        dataset, audit = clip
        write_audit_page(replace(audit, removed=()), dataset, tmp_path / "a.html")
        read = html_reader((tmp_path / "a.html").read_text(encoding="utf-8"))
        assert "Nothing stands out: each of the 60 labels" in " ".join(read.texts)
        assert not read.all("table")
        assert len(read.all("img")) == 1

    def test_the_plot_marks_what_stands_out(self, text):
        plot = base64.b64decode(re.search(r"data:image/svg\+xml;base64,([^\"]+)", text)[1]).decode()
        assert "stands out" in plot
        assert plot.count("#e08a1e") > 4
        assert "<script" not in plot

    @pytest.mark.usefixtures("text")
    def test_opens_in_a_browser(self, tmp_path, browser):
        browser(tmp_path / "a.html", shot=tmp_path / "a.png")
        screen = cv2.imread(str(tmp_path / "a.png"))
        marks = np.abs(screen.astype(int) - (0x1E, 0x8A, 0xE0)).sum(axis=2) < 12  # of the plot
        assert marks.sum() > 50
        assert amber(screen).sum() > 100  # heads and boxes of the pictures
