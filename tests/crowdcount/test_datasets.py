import math
import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import loadmat, savemat

from crowdcount.arrays import save_arrays
from crowdcount.errors import CrowdCountError, DatasetError, VideoError
from crowdcount.learning.datasets import Dataset, load_dataset, points_inside
from crowdcount.learning.measuring import n_lost_labels
from crowdcount.learning.training import evaluate, train
from crowdcount.scene import Scene, scene_from
from crowdcount.scene.files import MALL_PERSON_HEIGHT, UCSD_PERSON_HEIGHT
from crowdcount.video import open_source

NAN = math.nan


def draw_images(folder, names):
    """Images that differ in brightness, in the order of their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, name in enumerate(names):
        cv2.imwrite(str(folder / name), np.full((24, 32, 3), k % 250, np.uint8))


def cells(values):
    packed = np.empty((1, len(values)), object)
    for k, value in enumerate(values):
        packed[0, k] = value
    return packed


def frames_of(points):
    return cells([{"loc": np.asarray(dots, float)} for dots in points])


def refused(*arguments, said, **options):
    with pytest.raises(DatasetError) as caught:
        load_dataset(*arguments, **options)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message


def half(left=0, right=16, size_wh=(32, 24)):
    roi = np.zeros(size_wh[::-1], bool)
    roi[:, left:right] = True
    return Scene(size_wh, roi, np.full(size_wh[::-1], 8, np.float32))


def test_a_data_set_is_printed_in_a_line():
    """All of its labels were."""
    assert repr(Dataset("a", np.arange(3), np.array([2.0, 0, NAN]))) == "<Dataset a: 3 frames, 2 labelled>"


class TestBroughtBack:
    """From frames of 200 x 100 pixels of a camera that shows all half as large again, and 10 pixels lower."""

    MOVED = np.array([[[1.5, 0, 0], [0, 1.5, 0.1], [0, 0, 1]]])

    def dataset(self, **options):
        return Dataset("a", np.arange(4), np.array([2.0, 2.0, NAN, 1.0]), **options)

    def test_points_are_counted_in_the_region_again(self):
        region = np.zeros((100, 200), bool)
        region[:40, :80] = True
        points = (np.array([[30.0, 40.0], [150.0, 85.0]]),) * 2 + (None, np.empty((0, 2)))
        moved = np.concatenate([np.full((1, 3, 3), NAN), self.MOVED])
        dataset = self.dataset(points=points, counted_in=region)
        found = dataset.brought_back(np.array([0, 1]), moved, (200, 100))
        np.testing.assert_array_equal(found.points[0], points[0])
        np.testing.assert_allclose(found.points[1], [[20, 20], [100, 50]])
        assert found.points[2] is None
        assert found.points[3].shape == (0, 2)  # the camera stays where it was moved to
        np.testing.assert_array_equal(found.counts, [2, 1, NAN, 0])
        given = replace(dataset, counted_in=None).brought_back(np.array([0, 1]), moved, (200, 100))
        np.testing.assert_array_equal(given.counts, dataset.counts)

    def test_boxes_keep_their_people(self):
        boxes = np.array([[30.0, 40, 15, 30], [210, 20, 20, 40], [195, 70, 30, 30]])
        dataset = self.dataset(
            boxes=(boxes,) * 2 + (None, boxes[:1]),
            identities=(np.array([7, 8, 9]),) * 2 + (None, np.array([7])),
            counted_in=np.ones((100, 200), bool),
        )
        found = dataset.brought_back(np.array([1]), self.MOVED, (200, 100))
        np.testing.assert_allclose(found.boxes[1], [[20, 20, 10, 20], [130, 40, 20, 20]])
        assert found.identities[1].tolist() == [7, 9]  # who is out of the picture was not seen
        np.testing.assert_array_equal(found.counts, [2, 2, NAN, 1])

    def test_a_turned_box_is_as_large_as_before(self):
        turned = np.vstack([cv2.getRotationMatrix2D((100, 50), 10.0, 1.0), (0, 0, 1)])
        shares = np.diag([1 / 200, 1 / 100, 1])
        moved = shares @ turned @ np.linalg.inv(shares)
        dataset = self.dataset(boxes=(np.array([[90.0, 30, 20, 40]]),) * 4)
        found = dataset.brought_back(np.array([0]), moved[None], (200, 100))
        np.testing.assert_allclose(found.boxes[0], [[90, 30, 20, 40]])

    def test_nothing_changes_where_no_camera_was_moved(self):
        dataset = self.dataset(points=(None,) * 4)
        assert dataset.brought_back(np.arange(4), np.full((4, 3, 3), NAN), (200, 100)) is dataset

    def test_a_label_that_is_left_out_does_not_come_back(self):
        points, boxes = np.array([[30.0, 40.0]]), np.array([[30.0, 40, 15, 30]])
        for people in ({"points": (points,) * 4}, {"boxes": (boxes,) * 4}):
            dataset = self.dataset(**people, counted_in=np.ones((100, 200), bool))
            found = dataset.brought_back(np.array([0]), self.MOVED, (200, 100))
            np.testing.assert_array_equal(found.counts, [1, 1, NAN, 1])

    def test_nothing_changes_where_nobody_tells_where_people_are(self):
        dataset = self.dataset()
        assert dataset.brought_back(np.array([0]), self.MOVED, (200, 100)) is dataset

    def test_frames_before_the_first_are_seen_as_that(self):
        nobody = np.empty((0, 4))
        dataset = self.dataset(boxes=(np.array([[30.0, 40, 15, 30]]), nobody, None, nobody))
        moved = np.concatenate([self.MOVED, np.full((1, 3, 3), NAN)])
        found = dataset.brought_back(np.array([1, 3]), moved, (200, 100))
        np.testing.assert_allclose(found.boxes[0], [[20, 20, 10, 20]])
        assert [None if one is None else one.shape for one in found.boxes[1:]] == [(0, 4), None, (0, 4)]


@pytest.fixture
def mall(tmp_path):
    """Three labelled frames with 2, 1 and no people, and two unlabelled ones."""
    folder = tmp_path / "mall"
    draw_images(folder / "frames", [f"seq_{k:06}.jpg" for k in range(1, 6)])
    (folder / "frames" / "._seq_000001.jpg").write_text("what macOS knows of it")
    points = [[[1.0, 1.0], [2.5, 3.5]], [[32.0, 24.0]], np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2))]
    counts = [[2.0], [1.0], [0.0], [NAN], [NAN]]
    savemat(folder / "mall_gt.mat", {"frame": frames_of(points), "count": counts})
    savemat(folder / "mall_feat.mat", {"x": np.arange(150.0).reshape(5, 30)})
    savemat(folder / "perspective_roi.mat", {"roi": {"mask": np.ones((24, 32), np.uint8)}})
    return folder


class TestMall:
    def test_folder(self, mall):
        dataset = load_dataset(mall)
        assert dataset.fps == 2.0
        np.testing.assert_array_equal(dataset.numbers, [1, 2, 3, 4, 5])
        np.testing.assert_array_equal(dataset.counts, [2, 1, 0, NAN, NAN])
        np.testing.assert_array_equal(dataset.points[0], [[0.5, 0.5], [2.0, 3.0]])
        np.testing.assert_array_equal(dataset.points[1], [[31.5, 23.5]])
        assert dataset.points[2].shape == (0, 2)
        assert dataset.points[3] is None
        assert dataset.scene_files == (mall / "perspective_roi.mat",)
        with open_source(dataset.source, fps=dataset.fps) as source:
            assert source.info.frame_count == 5

    def test_some_of_the_frames(self, mall):
        for k in (1, 4):
            (mall / "frames" / f"seq_{k:06}.jpg").unlink()
        dataset = load_dataset(mall)
        np.testing.assert_array_equal(dataset.numbers, [2, 3, 5])
        np.testing.assert_array_equal(dataset.counts, [1, 0, NAN])
        assert [path.stem for path in dataset.source] == ["seq_000002", "seq_000003", "seq_000005"]
        assert dataset.missing == (1,)  # of 4, nothing is lost
        for frames, n_lost in ((None, 2), ("2-5", 1), ([3], 0)):
            assert n_lost_labels(dataset, frames, np.array([1, 2])) == n_lost

    def test_features(self, mall):
        for path in (mall / "mall_feat.mat", mall):
            dataset = load_dataset(path)
            assert len(dataset.numbers) == 5
            shutil.rmtree(mall / "frames", ignore_errors=True)
        assert dataset.source is None
        np.testing.assert_array_equal(dataset.features, np.arange(150.0).reshape(5, 30))
        np.testing.assert_array_equal(dataset.counts, [2, 1, 0, NAN, NAN])
        assert len(set(dataset.feature_names)) == 30
        assert [dataset.feature_views.count(view) for view in ("size", "edges", "texture")] == [10, 8, 12]

    def test_a_table_has_labels_of_its_own(self, mall, tmp_path):
        table = mall / "mall_feat.mat"
        for name in ("counts", "mot"):
            labels = {name: write(tmp_path / "labels", "frame,count", "0,1")}
            refused(table, **labels, said=f"ready-made features and has labels of its own; drop --{name}")
        with pytest.raises(VideoError, match="holds ready-made features or other numbers, no pictures; give"):
            open_source(table)

    def test_a_table_in_capital_letters(self, mall):
        (mall / "mall_feat.mat").rename(mall / "MALL_FEAT.MAT")
        assert len(load_dataset(mall / "MALL_FEAT.MAT").numbers) == 5

    def test_bad_folders(self, mall):
        for name in ("seq_000009.jpg", "cover.jpg"):
            (mall / "frames" / name).write_bytes(b"")
            refused(mall, said=f"{name}: expected one image for each of the frames 1-5")
            (mall / "frames" / name).unlink()
        shutil.rmtree(mall / "frames")
        (mall / "mall_feat.mat").unlink()
        refused(mall, said="without images in frames/ and without mall_feat.mat")

    @pytest.mark.parametrize(("labels", "said"), [
        ({"count": [1.0]}, "expected the variables frame, count, but frame is missing"),
        ({"frame": frames_of([[[1, 1]]]), "count": [1.0, 2.0]}, "expected `frame` with `loc`, and `count`"),
        ({"frame": cells([{"spot": 1.0}]), "count": [1.0]}, "expected `frame` with `loc`"),
        ({"frame": frames_of([[[1, 1]]]), "count": [-1.0]}, "expected `frame` with `loc`"),
        ({"frame": frames_of([[[1, 1]]]), "count": [math.inf]}, "expected `frame` with `loc`"),
        ({"frame": "text", "count": "text"}, "expected `frame` with `loc`"),
    ])
    def test_bad_labels(self, mall, labels, said):
        savemat(mall / "mall_gt.mat", labels)
        refused(mall, said=said)

    def test_bad_mat_files(self, mall):
        whole = (mall / "mall_gt.mat").read_bytes()
        for content in (b"", b"no mat", whole[:-50], whole[:300]):
            (mall / "mall_gt.mat").write_bytes(content)
            refused(mall, said="mall_gt.mat is not a MATLAB file, or it is damaged")
        (mall / "mall_gt.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(512))
        refused(mall, said="is a MATLAB 7.3 file; save it again with -v7")
        (mall / "mall_gt.mat").unlink()
        refused(mall / "mall_feat.mat", said="mall_gt.mat does not exist")

    def test_bad_features(self, mall):
        one_missing = np.ones((5, 30))
        one_missing[3, 7] = NAN
        for x, said in [(np.ones((5, 29)), "30 columns"), (one_missing, "30 columns"),
                        (np.ones((2, 30)), "at least 5 rows of features, one for each count, found 2")]:
            savemat(mall / "mall_feat.mat", {"x": x})
            refused(mall / "mall_feat.mat", said=said)

    def test_real_data(self, data_dir):
        dataset = load_dataset(data_dir / "mall")
        labelled = dataset.select("1-800")
        assert len(dataset.numbers) == 2000
        np.testing.assert_array_equal(np.isfinite(dataset.counts), labelled)
        roi = loadmat(data_dir / "mall" / "perspective_roi.mat")["roi"]["mask"][0, 0] > 0
        inside = [points_inside(dots, roi).sum() for dots in dataset.points[:800]]
        np.testing.assert_array_equal(inside, dataset.counts[labelled])

    def test_real_features(self, data_dir):
        dataset = load_dataset(data_dir / "mall" / "mall_feat.mat")
        assert dataset.features.shape == (2000, 30)
        labelled = np.isfinite(dataset.counts)
        area = dataset.features[:, dataset.feature_names.index("area")]
        assert np.corrcoef(area[labelled], dataset.counts[labelled])[0, 1] > 0.8
        # The order of the columns is inferred: a count of blobs has few values, all other columns many.
        distinct = [len(np.unique(column)) for column in dataset.features.T]
        assert dataset.feature_names[np.argmin(distinct)] == "blobs"
        assert sorted(distinct)[1] > 6 * min(distinct)


ROI = np.zeros((24, 32), bool)
ROI[5:, 10:20] = True


@pytest.fixture
def ucsd(tmp_path):
    """Clips 001 (no labels), 002 (official counts) and 003 (head points only) of three frames each."""
    folder = tmp_path / "ucsd"
    for clip in ("vidf1_33_001", "vidf1_33_002", "vidf1_33_003"):
        draw_images(folder / "vidf" / f"{clip}.y", [f"{clip}_f{k:03}.png" for k in range(1, 4)])
    draw_images(folder / "vidf" / "vidd1_33_001.y", ["vidd1_33_001_f001.png"])
    gt = folder / "gt"
    gt.mkdir()
    directions = cells([np.array([[1, 200, 0]], np.uint8), np.array([[1, 100, 0]], np.uint8)])
    savemat(gt / "vidf1_33_002_count_roi_mainwalkway.mat", {"count": directions})
    savemat(gt / "vidf1_33_002_frame_full.mat", {"frame": frames_of([[[1, 1, 1]], [[1, 1, 2]], [[1, 1, 3]]])})
    # 1-based pixel centres: 10.4 is still pixel 9, outside; 10.6 is pixel 10, inside.
    first = [[10.4, 10, 1], [10.6, 10, 1], [-5, 300, 1]]
    second = [[20.4, 24.4, 2], [20.6, 24.4, 2]]
    savemat(gt / "vidf1_33_003_frame_full.mat", {"frame": frames_of([first, second, np.zeros((0, 3))])})
    savemat(gt / "vidf1_33_roi_mainwalkway.mat", {"roi": {"mask": ROI.astype(np.uint8)}})
    savemat(gt / "vidf1_33_dmap3.mat", {"dmap": {"pmapxy": np.ones((24, 32))}})
    return folder


class TestUcsd:
    def test_folder(self, ucsd):
        dataset = load_dataset(ucsd)
        assert dataset.fps == 10.0
        np.testing.assert_array_equal(dataset.numbers, [201, 202, 203, 401, 402, 403, 601, 602, 603])
        np.testing.assert_array_equal(dataset.counts, [NAN, NAN, NAN, 2, 300, 0, 1, 1, 0])
        assert dataset.points[0] is None
        np.testing.assert_array_equal(dataset.points[3], [[0.5, 0.5]])
        assert [path.name for path in dataset.source] == [
            f"vidf1_33_{clip}_f{k:03}.png" for clip in ("001", "002", "003") for k in (1, 2, 3)]
        assert [path.stem for path in dataset.scene_files] == ["vidf1_33_roi_mainwalkway", "vidf1_33_dmap3"]

    def test_without_a_region_the_official_counts_alone_are_known(self, ucsd):
        (ucsd / "gt" / "vidf1_33_roi_mainwalkway.mat").unlink()
        np.testing.assert_array_equal(load_dataset(ucsd).counts, [NAN, NAN, NAN, 2, 300, 0, NAN, NAN, NAN])

    def test_longer_clips_than_the_published_ones_are_numbered_on(self, ucsd):
        draw_images(ucsd / "vidf" / "vidf1_33_001.y", [f"vidf1_33_001_f{k:03}.png" for k in range(4, 202)])
        dataset = load_dataset(ucsd)
        np.testing.assert_array_equal(dataset.numbers, np.arange(1, 208))
        np.testing.assert_array_equal(dataset.counts[201:], [2, 300, 0, 1, 1, 0])

    def test_images_side_by_side(self, ucsd):
        for image in (ucsd / "vidf").glob("vidf*/*.png"):
            image.rename(ucsd / image.name)
        shutil.rmtree(ucsd / "vidf")
        dataset = load_dataset(ucsd)
        np.testing.assert_array_equal(dataset.numbers, [201, 202, 203, 401, 402, 403, 601, 602, 603])
        np.testing.assert_array_equal(dataset.counts, [NAN, NAN, NAN, 2, 300, 0, 1, 1, 0])

    def test_one_clip_of_any_name(self, tmp_path):
        folder = tmp_path / "own"
        draw_images(folder, ["frame10.png", "frame9.png", "frame100.png"])
        savemat(folder / "yard [1]_count_roi_gate.mat", {"count": cells([[1, 2, 3], [0, 0, 1]])})
        dataset = load_dataset(folder)
        np.testing.assert_array_equal(dataset.numbers, [1, 2, 3])
        np.testing.assert_array_equal(dataset.counts, [1, 2, 4])
        assert [path.name for path in dataset.source] == ["frame9.png", "frame10.png", "frame100.png"]

    def test_images_of_no_labelled_clip(self, ucsd):
        for number, image in enumerate((ucsd / "vidf").glob("vidf*/*.png")):
            image.rename(ucsd / f"{number}.png")
        shutil.rmtree(ucsd / "vidf")
        refused(ucsd, said="expected images in folders CLIP.y or named CLIP_fNNN.png")

    def test_labels_that_do_not_fit(self, ucsd):
        image = ucsd / "vidf" / "vidf1_33_002.y" / "vidf1_33_002_f003.png"
        image.unlink()
        refused(ucsd, said="of 2 frames, one for each image")
        draw_images(image.parent, [image.name])
        shutil.copy(ucsd / "gt" / "vidf1_33_roi_mainwalkway.mat", ucsd / "gt" / "vidf1_33_roi_left.mat")
        refused(ucsd, said="expected files of one region, found left, mainwalkway")
        (ucsd / "gt" / "vidf1_33_roi_left.mat").unlink()
        savemat(ucsd / "gt" / "vidf1_33_roi_mainwalkway.mat", {"roi": 1.0})
        refused(ucsd, said="expected `roi` with `mask`")

    @pytest.mark.parametrize("clip", ["003", "004", "005", "006"])
    def test_points_reproduce_the_official_counts(self, data_dir, tmp_path, clip):
        name = f"vidf1_33_{clip}"
        draw_images(tmp_path / f"{name}.y", [f"{name}_f{k:03}.png" for k in range(1, 201)])
        for file in (f"{name}_frame_full.mat", "vidf1_33_roi_mainwalkway.mat"):
            shutil.copy(data_dir / "ucsd" / file, tmp_path)
        counted = load_dataset(tmp_path)
        official = f"{name}_count_roi_mainwalkway.mat"
        shutil.copy(data_dir / "ucsd" / official, tmp_path)
        published = load_dataset(tmp_path)
        np.testing.assert_array_equal(counted.counts, published.counts)
        table = load_dataset(data_dir / "ucsd" / "ucsd_peds1_features.npz")
        np.testing.assert_array_equal(table.numbers[table.select(list(published.numbers))], published.numbers)
        np.testing.assert_array_equal(table.counts[table.select(list(published.numbers))], published.counts)

    def test_features(self, tmp_path):
        np.savez(tmp_path / "own_features.npz", features=np.ones((4, 30)), count_total=[NAN, 3.0])
        for path in (tmp_path / "own_features.npz", tmp_path):
            dataset = load_dataset(path)
            assert dataset.source is None
            np.testing.assert_array_equal(dataset.counts, [NAN, 3, NAN, NAN])
            np.testing.assert_array_equal(dataset.numbers, [1, 2, 3, 4])
            assert len(set(dataset.feature_names)) == 30
            assert [dataset.feature_views.count(view) for view in ("size", "edges", "texture")] == [10, 8, 12]

    @pytest.mark.parametrize(("arrays", "said"), [
        ({}, "expected the arrays `features` and `count_total`"),
        ({"features": np.ones((4, 30)), "count_total": [-1.0]}, "expected the arrays"),
        ({"features": np.ones((4, 7)), "count_total": [1.0]}, "30 columns"),
        ({"features": np.array([{}]), "count_total": [1.0]}, "holds neither numbers nor text"),
    ])
    def test_bad_features(self, tmp_path, arrays, said):
        np.savez(tmp_path / "a.npz", **arrays)
        refused(tmp_path / "a.npz", said=said)

    @pytest.mark.parametrize("labels", [{}, {"counts": "labels.csv"}])
    def test_a_file_that_crowdcount_wrote_is_no_table(self, tmp_path, labels):
        save_arrays(tmp_path / "a.npz", "model", 1, {"features": np.ones((4, 30))}, {})
        refused(tmp_path / "a.npz", **labels, said="a.npz holds a crowdcount 'model'; give")

    def test_real_features(self, data_dir):
        dataset = load_dataset(data_dir / "ucsd")
        assert dataset.features.shape == (4000, 30)
        labelled = np.isfinite(dataset.counts)
        np.testing.assert_array_equal(labelled, dataset.select("601-1400"))
        area = dataset.features[:, dataset.feature_names.index("area")]

        def fit(shift):  # rows and counts belong together without a shift
            return np.corrcoef(np.roll(area, -shift)[labelled], dataset.counts[labelled])[0, 1]

        assert fit(0) > 0.98 > max(fit(-100), fit(100))


@pytest.mark.parametrize("layout", ["mall", "ucsd"])
def test_footage_in_a_published_layout_is_learnt_from(layout, street, tmp_path):
    """Pictures, counts, dots, region and perspective as the two data sets hold them."""
    heads = [boxes[:, :2] + boxes[:, 2:] * [0.5, 0.1] + 1 for boxes in street.boxes]
    roi = {"roi": {"mask": street.scene.roi.astype(np.uint8)}}
    height = street.scene.person_height.astype(float)
    if layout == "mall":
        images, name = tmp_path / "frames", "seq_{:06}.jpg"
        savemat(tmp_path / "mall_gt.mat", {"frame": frames_of(heads), "count": street.counts[:, None] * 1.0})
        savemat(tmp_path / "perspective_roi.mat", roi | {"pMapN": (MALL_PERSON_HEIGHT / height) ** 2})
    else:
        images, name = tmp_path / "vidf1_33_001.y", "vidf1_33_001_f{:03}.png"
        numbered = [np.column_stack([dots, np.ones(len(dots))]) for dots in heads]
        savemat(tmp_path / "vidf1_33_001_frame_full.mat", {"frame": frames_of(numbered)})
        savemat(tmp_path / "vidf1_33_roi_mainwalkway.mat", roi)
        savemat(tmp_path / "vidf1_33_dmap3.mat", {"dmap": {"pmapy": UCSD_PERSON_HEIGHT / height}})
    images.mkdir()
    for k, picture in enumerate(sorted(street.frames.iterdir())):
        cv2.imwrite(str(images / name.format(k + 1)), cv2.imread(str(picture)))
    dataset = load_dataset(tmp_path)
    training = train(dataset, frames=dataset.numbers[:40])
    assert [len(learnt) for learnt in training.model.facts["labels"]] == [40]
    assert evaluate(dataset, training.model, frames=dataset.numbers[40:]).metrics.mae < 1.0


@pytest.fixture
def clip(tmp_path):
    """A video of 12 frames, 32x24."""
    path = tmp_path / "clip.avi"
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter.fourcc(*"MJPG"), 8.0, (32, 24))
    for k in range(12):
        writer.write(np.full((24, 32, 3), 20 * k, np.uint8))
    writer.release()
    return path


def state(clip, n_frames):
    """Let a clip state that it has so many frames."""
    content = bytearray(clip.read_bytes())
    for header, offset in ((b"avih", 8 + 16), (b"strh", 8 + 32)):
        place = content.index(header) + offset
        assert int.from_bytes(content[place:place + 4], "little") == 12
        content[place:place + 4] = n_frames.to_bytes(4, "little")
    clip.write_bytes(content)


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


class TestCountsFile:
    def test_video(self, clip, tmp_path):
        labels = write(tmp_path / "labels.csv", "frame,count", "0,3", "2,0", "", "3,  ", "11,2.5")
        dataset = load_dataset(clip, counts=labels)
        assert dataset.source == clip
        np.testing.assert_array_equal(dataset.numbers, range(12))
        np.testing.assert_array_equal(dataset.counts, [3, NAN, 0, *[NAN] * 8, 2.5])

    def test_a_mask_is_no_list_of_frames(self, clip, tmp_path):
        dataset = load_dataset(clip, counts=write(tmp_path / "labels.csv", "frame,count", "0,3"))
        assert dataset.select(np.arange(3)).sum() == 3
        for mask in (np.arange(12) < 3, [True] * 12, [0.5]):
            with pytest.raises(DatasetError, match="expected the numbers of frames, found"):
                dataset.select(mask)

    def test_numbers_of_frames_as_pandas_writes_them_beside_a_gap(self, clip, tmp_path):
        labels = write(tmp_path / "labels.csv", "frame,count", "3.0,2", "11.,1")
        assert np.flatnonzero(np.isfinite(load_dataset(clip, counts=labels).counts)).tolist() == [3, 11]

    def test_image_folder_and_pattern(self, tmp_path):
        draw_images(tmp_path / "images", [f"img{k}.png" for k in range(5)])
        labels = write(tmp_path / "labels.csv", "frame,count", "4,1")
        for source in (tmp_path / "images", str(tmp_path / "images" / "img*.png")):
            dataset = load_dataset(source, counts=labels)
            np.testing.assert_array_equal(dataset.counts, [NAN, NAN, NAN, NAN, 1])
            with dataset.open_footage() as opened:
                assert (opened.info.frame_count, opened.info.rate) == (5, 1.0)

    def test_images_tell_no_rate(self, tmp_path):
        """As data sets have them, images come as fast as video: then the rate has to be given."""
        images = tmp_path / "images"
        draw_images(images, [f"img{k}.png" for k in range(5)])
        labels = write(tmp_path / "labels.csv", "frame,count", "4,1")
        dots = write(tmp_path / "dots.csv", "frame,x,y", "4,1,1")
        mot = write(tmp_path / "gt.txt", "1,1,1,1,2,4,1", "5,1,2,1,2,4,1")
        for labelled in ({"counts": labels}, {"counts": dots}, {"mot": mot, "annotated": "1-5"}):
            (note,) = load_dataset(images, **labelled).notes
            assert note.startswith(f"{images}: images are taken to be 1 s apart; give their rate (--fps)")
            dataset = load_dataset(images, fps=25.0, **labelled)
            assert dataset.notes == ()
            with dataset.open_footage() as source:
                assert source.info.rate == 25.0

    def test_another_rate_than_a_file_says(self, clip, tmp_path):
        labels = write(tmp_path / "labels.csv", "time_s,count", "0.5,1")
        assert np.flatnonzero(load_dataset(clip, counts=labels).counts == 1) == [4]
        dataset = load_dataset(clip, counts=labels, fps=20.0)
        assert np.flatnonzero(dataset.counts == 1) == [10]
        with dataset.open_footage() as source:
            assert source.info.rate == 20.0

    def test_a_rate_belongs_to_footage_with_labels(self, mall):
        refused(mall, fps=5.0, said="a rate belongs to footage with counts or a MOT file")

    @pytest.mark.parametrize("time_s", ["1.3", "1.375", "1.45", "1.5", "0:00:01.5"])
    def test_the_last_frame_until_the_footage_ends(self, clip, tmp_path, time_s):
        labels = write(tmp_path / "labels.csv", "time_s,count", "0,3", f"{time_s},1")
        assert np.flatnonzero(load_dataset(clip, counts=labels).counts == 1).tolist() == [11]

    def test_by_time(self, clip, tmp_path):
        """The first frame at or behind it, as of --start: 8 frames/s are .125 s apart."""
        labels = write(tmp_path / "labels.csv", "count,time_s", "3,0", "1,0:00.5", "2,.251", "0,00:00:01.3")
        counts = load_dataset(clip, counts=labels).counts
        np.testing.assert_array_equal(counts, [3, NAN, NAN, 2, 1, *[NAN] * 6, 0])
        dots = write(tmp_path / "dots.csv", "time_s,x,y", "0.25,5,5", "0.25,9,9", "0.5,,")
        np.testing.assert_array_equal(load_dataset(clip, counts=dots).counts[:5], [NAN, NAN, 2, NAN, 0])
        commas = write(labels, "time_s;count", "00:00:00,5;1", "0:01,25;2,5", "0,25;3")
        assert np.flatnonzero(load_dataset(clip, counts=commas).counts > 0).tolist() == [2, 4, 10]
        both = write(labels, "frame,time_s,count", "3,0.9,5")  # as `suggest` writes them
        np.testing.assert_array_equal(load_dataset(clip, counts=both).counts[:4], [NAN, NAN, NAN, 5])

    def test_own_output_and_foreign_spellings(self, clip, tmp_path):
        labels = tmp_path / "labels.csv"
        labels.write_bytes("\ufeffFrame, Count ,remark\r\n1,2,\"seen, twice\"\r\n".encode())
        np.testing.assert_array_equal(load_dataset(clip, counts=labels).counts[:3], [NAN, 2, NAN])
        assert load_dataset(clip, counts=labels).notes == ()
        write(labels, "frame,time_s,count,low,high,flags", "1,0.1,2.5,1,4,learning")
        dataset = load_dataset(clip, counts=labels)
        np.testing.assert_array_equal(dataset.counts[:3], [NAN, 2.5, NAN])
        (note,) = dataset.notes
        assert "these look like counts by crowdcount" in note

    @pytest.mark.parametrize("separator", [";", "\t"])
    def test_other_separators(self, clip, tmp_path, separator):
        lines = ("", "frame,remark,count", '1,"a, b; c",2', "3,,")
        labels = write(tmp_path / "labels.csv", *(line.replace(",", separator) for line in lines))
        np.testing.assert_array_equal(load_dataset(clip, counts=labels).counts[:4], [NAN, 2, NAN, NAN])

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
    def test_what_spreadsheets_write_where_a_comma_is_the_decimal_mark(self, clip, tmp_path, encoding):
        labels = tmp_path / "labels.csv"
        labels.write_bytes("Frame;Count;Gezählt von\r\n1;2,5;Jörg\r\n3;4;\r\n".encode(encoding))
        np.testing.assert_array_equal(load_dataset(clip, counts=labels).counts[:4], [NAN, 2.5, NAN, 4])

    @pytest.mark.parametrize("told", ["sep=;", "SEP=; "])
    def test_the_separator_that_a_line_tells_a_spreadsheet(self, clip, tmp_path, told):
        labels = write(tmp_path / "labels.csv", told, "frame;count;seen, by whom", "1;2,5;Jo, Al", "3;4;")
        np.testing.assert_array_equal(load_dataset(clip, counts=labels).counts[:4], [NAN, 2.5, NAN, 4])
        wrong = write(tmp_path / "wrong.csv", told, "frame;count", "1;many")
        refused(clip, counts=wrong, said="line 3: expected a count of 0 or more, or a blank, found 'many'")

    @pytest.mark.parametrize("lines", [["frame,count", '1,"1,200"'], ["frame\tcount", "1\t1,200"]])
    def test_a_comma_is_a_decimal_mark_between_semicolons_only(self, clip, tmp_path, lines):
        labels = write(tmp_path / "labels.csv", *lines)
        refused(clip, counts=labels, said="line 2: expected a count of 0 or more, or a blank, found '1,200'")

    @pytest.mark.parametrize(("lines", "said"), [
        ([], "line 1: expected a header with the columns frame and count, or time_s and count, or frame, x "
             "and y, or time_s, x and y, each once"),
        (["0,3"], "or time_s, x and y, each once, found '0,3'"),
        (["time_s,count", "0,3", "1.6,4"], "line 3: expected a time up to the last frame, found '1.6', but"),
        (["time_s,count", "0:60,3"], "expected seconds since the first frame, or HH:MM:SS, found '0:60'"),
        (["time_s,count", ",3"], "line 2: expected seconds since the first frame, or HH:MM:SS, found ''"),
        (["time_s,count", "0.13,3", "0.2,4"], "line 3: frame 2 stands in line 2 already"),
        (["frame,count"], "expected a line for each labelled frame, found none"),
        (["frame,count", "0,3", "12,1"], "line 3: frame 12 of the footage is labelled, but"),
        (["frame,count", "0,3", "99999999999,1"], "line 3: frame 99999999999 of the footage is labelled"),
        (["frame,count", "0,3", "", "0,4"], "line 4: frame 0 stands in line 2 already"),
        (["frame,count", "0,many"], "line 2: expected a count of 0 or more, or a blank, found 'many'"),
        (["frame,count", "0,-1"], "line 2: expected a count of 0 or more, or a blank, found '-1'"),
        (["frame,count", "0,nan"], "line 2: expected a count of 0 or more, or a blank, found 'nan'"),
        (["frame,count", f"0,{'9' * 300}"], "line 2: expected a count of 0 or more, or a blank, found '999"),
        (["frame,count", "0,1_0"], "line 2: expected a count of 0 or more, or a blank, found '1_0'"),
        (["frame,count", "0,inf"], "line 2: expected a count of 0 or more, or a blank, found 'inf'"),
        (["frame,count", "first,1"], "line 2: expected a frame number from 0, found 'first'"),
        (["frame,count", "-1,1"], "line 2: expected a frame number from 0, found '-1'"),
        (["frame,count", "1.5,1"], "line 2: expected a frame number from 0, found '1.5'"),
        (["frame,count", "1"], "line 2: expected 2 values, found 1"),
        (["frame,count,Count ", "1,2,"], "y, each once, found 'frame,count,count'; add or correct"),
        (["frame,count,note", "0,3,", '1,4,"unsure', "2,5,"], "values from line 3 on, where a quotation"),
        (["frame,count,note", '1,4,"unsure', "2,5,", '3,5,"too'], "values from line 2 on, where a quotation"),
        (["frame,count", "1," + "9" * 200_000], "is not a text file of comma-separated values"),
    ])
    def test_bad_lines(self, clip, tmp_path, lines, said):
        refused(clip, counts=write(tmp_path / "labels.csv", *lines), said=said)

    def test_bad_files(self, clip, tmp_path):
        labels = write(tmp_path / "labels.csv", "frame,count", "0,3")
        refused(clip, counts=tmp_path / "absent.csv", said="absent.csv: no such file or directory; check")
        refused(clip, counts=tmp_path, said="is a directory")
        refused(labels, counts=clip, said="clip.avi is not a text file of comma-separated values")
        with pytest.raises(VideoError):
            load_dataset(tmp_path / "absent.avi", counts=labels)
        with pytest.raises(VideoError):
            load_dataset(labels, counts=labels)

    def test_a_file_that_states_more_frames_than_there_can_be_is_counted(self, clip, tmp_path):
        state(clip, 2_000_000_000)
        with open_source(clip) as source:
            assert source.info.frame_count == 2_000_000_000
        labels = write(tmp_path / "labels.csv", "frame,count", "3,4")
        assert len(load_dataset(clip, counts=labels).counts) == 12

    def test_a_file_that_states_too_few_frames_is_counted(self, clip, tmp_path):
        state(clip, 5)
        with open_source(clip) as source:
            last = sum(1 for _ in source.frames()) - 1  # OpenCV 4.10: one more than stated
            assert source.info.frame_count <= last
        labels = write(tmp_path / "labels.csv", "frame,count", f"{last},4")
        assert load_dataset(clip, counts=labels).counts[last] == 4
        refused(clip, counts=write(labels, "frame,count", f"{last + 1},4"), said=f"has frames 0-{last}")

    def test_real_data(self, data_dir):
        folder = data_dir / "pets2009"
        mot = folder / "PETS09-S2L1_gt_001-400.txt"
        counted = load_dataset(folder / "vtest.avi", counts=folder / "vtest_counts_001-400.csv")
        boxed = load_dataset(folder / "vtest.avi", mot=mot, annotated="1-400")
        more = boxed.counts - counted.counts  # who stands in the distance is in no score of tracking
        assert np.nansum(more) == 174
        assert (np.flatnonzero(more > 0) == np.arange(146, 244)).all()
        np.testing.assert_array_equal(np.isfinite(boxed.counts), boxed.select("0-399"))
        assert len(boxed.counts) == 795
        told = "174 boxes of people that it marks as not to be considered are counted all the same"
        assert boxed.notes == (f"{mot}: {told}, as they are seen",)


class TestDots:
    """Dots in the place of counts: `frame,x,y`, a head a line."""

    LINES = ("frame,time_s,x,y", "2,0.25,3.0,5.5", "2,0.25,20,7", "5,0.6,,", "7,,-0.5,-.5", "7,,31.5,23.5")

    def test_every_dot_is_a_person(self, clip, tmp_path):
        dataset = load_dataset(clip, counts=write(tmp_path / "dots.csv", *self.LINES))
        assert dataset.source == clip
        np.testing.assert_array_equal(dataset.counts, [NAN, NAN, 2, NAN, NAN, 0, NAN, 2, *[NAN] * 4])
        np.testing.assert_array_equal(dataset.points[2], [[3.5, 6.0], [20.5, 7.5]])
        assert dataset.points[5].shape == (0, 2)
        np.testing.assert_array_equal([k for k in range(12) if dataset.points[k] is not None], [2, 5, 7])
        assert points_inside(dataset.points[7], np.ones((24, 32), bool)).all()

    def test_those_in_the_region_count(self, clip, tmp_path):
        dots = write(tmp_path / "dots.csv", *self.LINES)
        dataset = load_dataset(clip, counts=dots, roi_scene=half())
        np.testing.assert_array_equal(dataset.counts[[2, 5, 7]], [1, 0, 1])
        assert len(dataset.points[2]) == 2
        assert len(dataset.people(2, half().roi)[0]) == 1
        assert dataset.notes == ()  # half of them do
        (note,) = load_dataset(clip, counts=dots, roi_scene=half(0, 3)).notes
        assert note.startswith(f"{dots}: 3 of 4 dots lie outside the region of interest and are not counted")

    def test_shares_of_the_frame_are_no_pixels(self, clip, tmp_path):
        """A lone head may be in the first pixel."""
        lines = "frame,x,y", "3,1,0.4"
        alone = write(tmp_path / "dots.csv", *lines, "5,,")
        assert load_dataset(clip, counts=alone).counts[3] == 1
        shares = write(tmp_path / "dots.csv", *lines, "5,0.61,-0.001")
        refused(clip, counts=shares, said="dots in pixels of frames of 32x24, found no x or y above 1, as of")

    def test_decimal_commas(self, clip, tmp_path):
        dots = write(tmp_path / "dots.csv", "frame;x;y", "1;2,5;3,25")
        np.testing.assert_array_equal(load_dataset(clip, counts=dots).points[1], [[3.0, 3.75]])

    @pytest.mark.parametrize(("lines", "said"), [
        (["frame,x,y"], "expected a line for each labelled frame, found none"),
        (["frame,x,y", "0,3"], "line 2: expected 3 values, found 2"),
        (["frame,x,y", "x,3,4"], "line 2: expected a frame number from 0, found 'x'"),
        (["frame,x,y", "0,3,"], "line 2: expected y of a head in pixels, or x and y blank where nobody is"),
        (["frame,x,y", "0,inf,3"], "line 2: expected x of a head in pixels"),
        (["frame,x,y", "0,3,4", "12,1,1"], "line 3: frame 12 of the footage is labelled, but"),
        (["frame,x,y", "0,3,4", "1,3,4", "0,3.0,4"], "line 4: the same stands in line 2 already; remove one"),
        (["frame,x,y", "0,,", "0, ,"], "line 3: the same stands in line 2 already"),
        (["frame,x,y", "0,3,4", "0,,"], "line 3: by this line and line 2, frame 0 has somebody and, x"),
        (["frame,x,y", "0,,", "0,3,4"], "line 3: by this line and line 2, frame 0 has somebody"),
        (["frame,x,y", "0,3,4", "1,32,4"], "line 3: expected a point of a frame of 32x24 pixels, found 32,4"),
        (["frame,x,y", "1,3,-1"], "line 2: expected a point of a frame of 32x24 pixels, found 3,-1"),
    ])
    def test_bad_dots(self, clip, tmp_path, lines, said):
        refused(clip, counts=write(tmp_path / "dots.csv", *lines), said=said)


MOT = ("2,1,1,1,4,6,1,-1,-1,-1", "2,2,21,1,4,6,1,-1,-1,-1", "2,3,5,5,4,6,0,-1,-1,-1", "4,1,1,1,4,6,1")


class TestMot:
    def test_first_to_last_row_by_default_and_the_user_is_told(self, clip, tmp_path):
        mot = write(tmp_path / "gt.txt", *MOT)
        dataset = load_dataset(clip, mot=mot)
        np.testing.assert_array_equal(dataset.counts, [NAN, 3, 0, 1, *[NAN] * 8])
        np.testing.assert_array_equal(dataset.boxes[1], [[0, 0, 4, 6], [20, 0, 4, 6], [4, 4, 4, 6]])
        assert dataset.boxes[2].shape == (0, 4)
        assert dataset.boxes[0] is None
        annotated, ignored = dataset.notes
        assert "frames 2-4 of its numbering, from its first to its last row, are taken" in annotated
        assert "annotated, 1 without a row as empty; give" in annotated
        assert "1 boxes of people that it marks as not to be considered are counted all the same" in ignored
        assert load_dataset(clip, mot=mot, annotated="1-3,2-4").notes == (ignored,)

    def test_what_is_no_person_by_its_class_is_not_counted(self, clip, tmp_path):
        """A pedestrian; a car, a reflection; who sits or stands; a pedestrian who is not considered."""
        kinds = enumerate(((1, 1), (0, 3), (0, 12), (0, 7), (0, 1)))
        rows = [f"2,{k},{1 + 5 * k},1,4,6,{consider},{number},1" for k, (consider, number) in kinds]
        dataset = load_dataset(clip, mot=write(tmp_path / "gt.txt", *rows), annotated="1-2")
        assert dataset.counts[1] == 3
        assert dataset.identities[1].tolist() == [0, 3, 4]
        ignored, others = dataset.notes
        assert "2 boxes of people that it marks" in ignored
        assert "2 boxes of what is no person by its class are not counted" in others
        refused(clip, mot=write(tmp_path / "gt.txt", "2,1,1,1,4,6,0,car,1"), said="expected a class, 1 for a")

    @pytest.mark.parametrize("scale", [4, 0.02])
    def test_boxes_of_another_size_of_frame_are_refused(self, clip, tmp_path, scale):
        rows = [f"2,{k},{20 * scale},{10 * scale},{4 * scale},{6 * scale},1" for k in range(3)]
        refused(clip, mot=write(tmp_path / "gt.txt", *rows), said="boxes in pixels of frames of 32x24")
        out = write(tmp_path / "gt.txt", *MOT, "5,1,30,1,9,6,1")  # as who leaves the frame
        assert load_dataset(clip, mot=out).counts[4] == 1

    def test_corners_in_the_place_of_sizes_are_refused(self, clip, tmp_path):
        """Not who is cut off by the edge of the frame, as by that of a close view, all of them here."""
        boxes = [(2, 3, 6, 12), (20, 9, 5, 13), (15, 12, 7, 9), (24, 2, 4, 8)]
        corners = [f"1,{k},{x},{y},{x + w},{y + h},1" for k, (x, y, w, h) in enumerate(boxes)]
        said = "expected left,top,width,height of each box, found most beyond frames of 32x24, as where"
        refused(clip, mot=write(tmp_path / "gt.txt", *corners), said=said)
        near = [f"1,{k},{2 + 12 * k},6,10,24,1" for k in range(3)]
        assert load_dataset(clip, mot=write(tmp_path / "gt.txt", *near)).counts[0] == 3

    def test_annotated_frames_without_a_row_have_nobody(self, clip, tmp_path):
        dataset = load_dataset(clip, mot=write(tmp_path / "gt.txt", *MOT), annotated="1-3,12")
        np.testing.assert_array_equal(dataset.counts, [0, 3, 0, *[NAN] * 8, 0])

    def test_the_beginning_of_a_recording_takes_the_file_of_the_whole(self, clip, tmp_path):
        mot = write(tmp_path / "gt.txt", *MOT, "13,1,1,1,4,6,1")
        dataset = load_dataset(clip, mot=mot, annotated="1-3")
        np.testing.assert_array_equal(dataset.counts, [0, 3, 0, *[NAN] * 9])
        refused(clip, mot=mot, said="line 5: frame 12 of the footage is labelled, but")

    def test_region_of_interest(self, clip, tmp_path):
        mot = write(tmp_path / "gt.txt", *MOT)
        for scene, counts in [(half(0, 16), [2, 0, 1]), (half(16, 32), [1, 0, 0]), (half(2, 3), [1, 0, 1]),
                              (half(3, 5), [0, 0, 0]), (half(0, 32, (64, 48)), [2, 0, 1])]:
            dataset = load_dataset(clip, mot=mot, roi_scene=scene)
            np.testing.assert_array_equal(dataset.counts[1:4], counts)
            assert len(dataset.boxes[1]) == 3
        with pytest.raises(CrowdCountError, match="another shape"):
            load_dataset(clip, mot=mot, roi_scene=half(size_wh=(32, 8)))

    @pytest.mark.parametrize(("line", "said"), [
        ("1,1,1,1,4,6", "line 2: expected frame,id,left,top,width,height,consider, found 6 values"),
        ("0,1,1,1,4,6,1", "line 2: expected a frame number from 1, found '0'"),
        ("one,1,1,1,4,6,1", "line 2: expected a frame number from 1, found 'one'"),
        ("1,-1,1,1,4,6,1", "line 2: expected a person's number, found '-1'"),
        ("1,1,nan,1,4,6,1", "line 2: expected a box corner in pixels, found 'nan'"),
        ("1,1,1,1,-4,6,1", "line 2: expected a box size in pixels, found '-4'"),
        ("1,1,1,1,4,6,0.7", "line 2: expected 0 or 1 as consider flag, found 0.7"),
        ("2,1,1,1,4,6,1", "line 2: person 1 of frame 2 stands in line 1 already"),
        ("13,1,1,1,4,6,1", "line 2: frame 12 of the footage is labelled, but"),
    ])
    def test_bad_lines(self, clip, tmp_path, line, said):
        refused(clip, mot=write(tmp_path / "gt.txt", MOT[0], line), said=said)

    @pytest.mark.parametrize(("annotated", "said"), [
        ("5-1", "expected frames such as"), ("all", "expected frames such as"),
        ("0-3", "expected annotated frames numbered from 1"),
        ("1-13", "annotated frames: frame 12 of the footage is labelled, but"),
        ("1-999999999999999", "annotated frames: frame 999999999999998 of the footage is labelled, but"),
    ])
    def test_bad_annotated_frames(self, clip, tmp_path, annotated, said):
        refused(clip, mot=write(tmp_path / "gt.txt", *MOT), annotated=annotated, said=said)

    @pytest.mark.parametrize("is_given", [False, True])
    def test_people_whom_the_edge_of_the_frame_cuts_off_count(self, clip, tmp_path, is_given):
        """With the whole frame as the region as without any; who is out of it altogether does not."""
        boxes = {1: (4, 18, 5, 20), 2: (-6, 2, 8, 9), 3: (30, -9, 9, 12), 4: (33, 3, 5, 9), 5: (3, 25, 4, 9)}
        lines = [f"1,{k},{x},{y},{w},{h},1" for k, (x, y, w, h) in boxes.items()]
        scene = scene_from((32, 24)) if is_given else None
        dataset = load_dataset(clip, mot=write(tmp_path / "gt.txt", *lines), annotated="1-2", roi_scene=scene)
        np.testing.assert_array_equal(dataset.counts[:2], [3, 0])
        _, inside = dataset.people(0, np.ones((24, 32), bool))
        np.testing.assert_array_equal(inside, dataset.boxes[0][:3])

    def test_empty_file(self, clip, tmp_path):
        refused(clip, mot=write(tmp_path / "gt.txt", ""), said="expected a line for each person, found none")

    @pytest.mark.parametrize(("name", "frames"), [("TUD-Campus", 71), ("TUD-Stadtmitte", 179)])
    def test_real_data(self, data_dir, name, frames):
        folder = data_dir / "tud" / name
        dataset = load_dataset(folder / f"{name}.mp4", mot=folder / "gt.txt", annotated=f"1-{frames}")
        assert np.isfinite(dataset.counts).all()
        assert len(dataset.counts) == frames
        assert dataset.counts.sum() == len((folder / "gt.txt").read_text().split())


class TestSelect:
    dataset = Dataset("data", np.array([3, 4, 6, 7, 8]), np.zeros(5))

    @pytest.mark.parametrize(("frames", "rows"), [
        ("3-8", [0, 1, 2, 3, 4]), ("4-6", [1, 2]), ("7", [3]), ("3-4, 8", [0, 1, 4]),
        ([8, 3], [0, 4]), (np.array([6]), [2]), ([], []),
    ])
    def test_own_numbering_with_both_ends(self, frames, rows):
        chosen = self.dataset.select(frames)
        assert chosen.dtype == bool
        np.testing.assert_array_equal(np.flatnonzero(chosen), rows)

    @pytest.mark.parametrize(("frames", "said"), [
        ("1-8", "frames 1-8 asked for, but data has 3-8"), ("3-9", "frames 3-9 asked for"),
        ([2], "frames 2 asked for"), ("5", "data has none of the frames 5"),
    ])
    def test_what_is_not_there(self, frames, said):
        with pytest.raises(DatasetError, match=said):
            self.dataset.select(frames)

    @pytest.mark.parametrize("frames", ["", "8-3", "3-", "-3", "3;4", "3-4-5", "x", "\n", "9" * 5000])
    def test_what_is_no_range(self, frames):
        with pytest.raises(DatasetError, match=r"^expected frames such as [^\n]{,90}$"):
            self.dataset.select(frames)


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), max_size=20))
def test_points_inside_agrees_with_looking_each_up(points):
    inside = points_inside(np.array(points, float).reshape(-1, 2), ROI)
    for (x, y), answer in zip(points, inside, strict=True):
        column, row = math.floor(x), math.floor(y)
        assert answer == (0 <= column < 32 and 0 <= row < 24 and bool(ROI[row, column]))


def test_what_is_no_data_set(clip, tmp_path):
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "absent", said="does not exist; check the name")
    refused(tmp_path / "folder", said="is neither a Mall nor a UCSD folder")
    refused(clip, said="no counts of people with it; give a CSV file of them (--counts) or a MOT file (--mot")
    refused(clip, counts="a.csv", mot="gt.txt", said="not both")
    refused(clip, annotated="1-4", said="annotated frames belong to a MOT file, but there is none")
