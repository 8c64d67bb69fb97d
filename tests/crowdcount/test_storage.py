import stat

import pytest

from crowdcount.errors import OutputError
from crowdcount.model import default_model
from crowdcount.storage import (
    atomic_path,
    check_writable,
    partial_path,
    refuse_foreign,
    refuse_to_replace,
    set_aside,
)
from tests.crowdcount.helpers import only


def interrupted(writing, error):
    with writing as temporary:
        temporary.write_text("half")
        raise error


class TestAtomicPath:
    def test_appears_whole_under_its_name_with_usual_permissions(self, tmp_path):
        target = tmp_path / "a.txt"
        (tmp_path / "ordinary").touch()
        with atomic_path(target) as temporary:
            temporary.write_text("whole")
            assert temporary.suffix == ".txt"
            assert not target.exists()
        assert target.read_text() == "whole"
        assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE((tmp_path / "ordinary").stat().st_mode)
        assert only(tmp_path) == ["a.txt", "ordinary"]

    def test_failure_leaves_the_old_file_and_no_litter(self, tmp_path):
        target = tmp_path / "a.txt"
        target.write_text("old")
        with pytest.raises(KeyboardInterrupt):
            interrupted(atomic_path(target), KeyboardInterrupt)
        assert target.read_text() == "old"
        assert only(tmp_path) == ["a.txt"]

    def test_missing_folder_folder_and_device_are_one_line(self, tmp_path):
        (tmp_path / "folder").mkdir()
        for target, said in [
            (tmp_path / "absent" / "a.txt", f"{tmp_path / 'absent'} does not exist; create it"),
            (tmp_path / "folder", "it is a folder"),
            ("/dev/null", "it is a device"),
        ]:
            with pytest.raises(OutputError, match=r"^cannot write [^\n]*$") as caught, atomic_path(target):
                pytest.fail("the body ran")
            assert said in str(caught.value)
        assert only(tmp_path) == ["folder"]

    def test_a_locked_folder_is_one_line(self, locked):
        for write in (atomic_path, partial_path, check_writable):
            with (pytest.raises(OutputError, match=r"^cannot write [^\n]*: writing there is not permitted; "),
                  write(locked / "a.csv")):
                pytest.fail("the body ran")
        refuse_foreign(locked / "a.csv", ["frame"])
        with pytest.raises(OutputError, match="writing there is not permitted"):
            default_model().save(locked / "a.npz")

    def test_full_disk_is_one_line(self, tmp_path):
        with (pytest.raises(OutputError, match="the disk is full; free some space"),
              atomic_path(tmp_path / "a.txt"), open("/dev/full", "wb", buffering=0) as full):
            full.write(b"x")
        assert only(tmp_path) == []


@pytest.mark.parametrize("write", [atomic_path, partial_path])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o400])
def test_a_file_that_is_written_anew_keeps_its_permissions(tmp_path, write, mode):
    """What was for its owner alone could be read by all, while it grew too."""
    target, link = tmp_path / "a.csv", tmp_path / "link.csv"
    target.touch()
    target.chmod(mode)
    link.symlink_to(target)
    for name in (target, link):
        with write(name) as growing:
            growing.write_text("new")
            assert stat.S_IMODE(growing.stat().st_mode) == mode | stat.S_IWUSR
        assert stat.S_IMODE(target.stat().st_mode) == mode | stat.S_IWUSR
        assert target.read_text() == "new"


class TestCheckWritable:
    def test_leaves_everything_as_it_was(self, tmp_path):
        (tmp_path / "a.png").write_text("mine")
        check_writable(tmp_path / "a.png", (".png", ".svg"))
        check_writable(tmp_path / "b.any")
        assert only(tmp_path) == ["a.png"]
        assert (tmp_path / "a.png").read_text() == "mine"

    def test_says_what_writing_would(self, tmp_path):
        for target, said in [(tmp_path / "absent" / "a.png", "create it first"), (tmp_path, "it is a folder"),
                             (tmp_path / "a.txt", "a name ending in .png or .svg")]:
            with pytest.raises(OutputError, match=r"^cannot write [^\n]*$") as caught:
                check_writable(target, () if target == tmp_path else (".png", ".svg"))
            assert said in str(caught.value)
        assert only(tmp_path) == []


class TestPartialPath:
    def test_renamed_on_success(self, tmp_path):
        with partial_path(tmp_path / "a.counts.csv") as partial:
            assert partial == tmp_path / "a.counts.partial.csv"
            partial.write_text("x")
        assert only(tmp_path) == ["a.counts.csv"]

    def test_kept_on_failure_unless_empty(self, tmp_path):
        with pytest.raises(KeyboardInterrupt) as caught:
            interrupted(partial_path(tmp_path / "a.csv"), KeyboardInterrupt)
        assert caught.value.__notes__ == [f"kept so far: {tmp_path / 'a.partial.csv'}"]
        with pytest.raises(RuntimeError) as caught, partial_path(tmp_path / "b.csv"):
            raise RuntimeError
        assert not hasattr(caught.value, "__notes__")
        assert only(tmp_path) == ["a.partial.csv"]

    def test_another_run_at_work_on_it_is_left_alone(self, tmp_path):
        target = tmp_path / "a.csv"
        with partial_path(target) as partial:
            partial.write_text("first")
            for second in (check_writable, set_aside, lambda path: partial_path(path).__enter__()):
                with pytest.raises(OutputError, match=r"another run writes .*a\.partial\.csv now; wait"):
                    second(target)
        assert target.read_text() == "first"
        assert only(tmp_path) == ["a.csv"]
        check_writable(target)

    @pytest.mark.parametrize("is_there", [True, False])
    def test_never_takes_another_file_for_its_own(self, tmp_path, is_there):
        """Where the disk knows no locks, or somebody removed it."""
        for failure in (None, KeyboardInterrupt()):
            first = partial_path(tmp_path / "a.csv")
            partial = first.__enter__()
            partial.unlink()
            if is_there:
                partial.write_text("second")
            told = f"{partial} was moved or removed while it was written"
            if is_there:
                told = f"another run writes to {partial} now"
            if failure is None:
                with pytest.raises(OutputError, match=told):
                    first.__exit__(None, None, None)
            else:
                assert not first.__exit__(type(failure), failure, None)
                assert failure.__notes__ == [told]
            assert only(tmp_path) == ["a.partial.csv"] * is_there
            partial.unlink(missing_ok=True)

    def test_a_link_stays_and_what_it_leads_to_is_written(self, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for target in (elsewhere / "today", elsewhere / "not there yet"):
            link = tmp_path / f"{target.name}.csv"
            link.symlink_to(target)
            for write in (partial_path, atomic_path):
                check_writable(link)
                with write(link) as growing:
                    assert growing.parent == elsewhere  # of the disk that it ends on
                    assert growing.suffix == ".csv"
                    growing.write_text(write.__name__)
                assert link.is_symlink()
                assert target.read_text() == write.__name__
            set_aside(link)
            assert not target.exists()
        assert only(elsewhere) == ["not there yet.1", "today.1"]
        (tmp_path / "lost.csv").symlink_to(tmp_path / "lost" / "today.csv")
        with pytest.raises(OutputError, match=f"the folder {tmp_path / 'lost'} does not exist"):
            check_writable(tmp_path / "lost.csv")

    def test_what_is_read_is_not_written_over_by_another_name_either(self, tmp_path):
        (tmp_path / "link.csv").symlink_to(tmp_path / "gate.csv")
        for name, read in (("link.csv", "gate.csv"), ("gate.csv", "gate.partial.csv")):
            with pytest.raises(OutputError, match="written over"):
                refuse_to_replace(tmp_path / name, None, tmp_path / read)
            refuse_to_replace(tmp_path / read, tmp_path / "gates.csv")

    def test_what_earlier_runs_left_is_set_aside(self, tmp_path):
        target = tmp_path / "a.csv"
        set_aside(target)
        assert only(tmp_path) == []
        for night in range(3):
            target.write_text(f"night {night}")
            (tmp_path / "a.partial.csv").write_text(f"cut off {night}" if night else "")
            set_aside(target)
        names = ["1", "2", "3", "partial.1", "partial.2"]
        assert only(tmp_path) == sorted(f"a.{name}.csv" for name in names)
        assert (tmp_path / "a.2.csv").read_text() == "night 1"
        assert (tmp_path / "a.partial.1.csv").read_text() == "cut off 1"
