import json
import math
import os
import pty
import resource
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crowdcount.errors import DatasetError, OutputError
from crowdcount.results import FrameCount, open_writer, read_counts
from crowdcount.rows import FORMATS
from tests.crowdcount.helpers import only

PROJECT = Path(__file__).resolve().parents[2]
NAN = math.nan
ROWS = [
    FrameCount(0, 0.0, 3.25, 2.0, 4.5),
    FrameCount(1, 0.04, NAN, NAN, NAN, ("undecodable",)),
    FrameCount(7, 0.28, 0.0, 0.0, 1.5, ("light", "outside-range")),
]
START = datetime(2024, 3, 1, 23, 59, 59, 900_000, tzinfo=timezone(timedelta(hours=2)))


def same(one, other):
    """Equality with NaN equal to NaN."""
    return repr(one) == repr(other)


def write(target, format, rows, **options):
    with open_writer(target, format, **options) as write_row:
        for row in rows:
            write_row(row)


def many(n):
    for k in range(n):
        yield FrameCount(k, k / 25, k % 7 + 0.1234, 0.0, 9.0, ("light",) if k % 3 else ())


def write_until(write_row, rows, error=None):
    for row in rows:
        write_row(row)
    if error is not None:
        raise error


def numbers(decimals):
    return st.floats(0, 1e6).map(lambda value: round(value, decimals))


letters = st.characters(exclude_characters=";", exclude_categories=["Cc", "Cs"])
words = st.text(letters, min_size=1).filter(lambda word: word == word.strip())
row_strategy = st.builds(
    FrameCount,
    frame=st.integers(0, 2**53),
    time_s=numbers(6),
    count=numbers(4) | st.just(NAN),
    low=numbers(4) | st.just(NAN),
    high=numbers(4) | st.just(NAN),
    flags=st.lists(words, max_size=3).map(tuple),
)


@pytest.mark.parametrize("format", FORMATS)
class TestEveryFormat:
    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(rows=st.lists(row_strategy, max_size=5), start_time=st.sampled_from([None, START]))
    def test_what_is_written_is_read_back(self, tmp_path, format, rows, start_time):
        path = tmp_path / f"a.{format}"
        write(path, format, rows, start_time=start_time)
        assert same(read_counts(path), rows)
        assert only(tmp_path) == [path.name]

    def test_numbers_are_rounded_to_what_is_documented(self, tmp_path, format):
        path = tmp_path / f"a.{format}"
        write(path, format, [FrameCount(1, 1 / 3, 1 / 3, 1 / 7, 2 / 3)])
        assert read_counts(path) == [FrameCount(1, 0.333333, 0.3333, 0.1429, 0.6667)]

    def test_an_end_of_the_interval_that_is_not_known_is_empty(self, tmp_path, format):
        path = tmp_path / f"a.{format}"
        write(path, format, [FrameCount(0, 0.0, 1.5, 0.0, math.inf, ("learning",))])
        assert same(read_counts(path), [FrameCount(0, 0.0, 1.5, 0.0, NAN, ("learning",))])

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_interrupted_keeps_a_readable_partial_file(self, tmp_path, format, error):
        path = tmp_path / f"a.counts.{format}"
        path.write_text("of yesterday")
        with pytest.raises(error), open_writer(path, format) as write_row:
            write_until(write_row, many(2345), error)
        assert path.read_text() == "of yesterday"
        partial = tmp_path / f"a.counts.partial.{format}"
        assert set(only(tmp_path)) == {path.name, partial.name}
        assert [row.frame for row in read_counts(partial)] == list(range(2345))

    def test_nothing_is_left_when_no_row_was_written(self, tmp_path, format):
        with pytest.raises(RuntimeError), open_writer(tmp_path / "a", format):
            raise RuntimeError
        assert only(tmp_path) == []

    def test_no_rows_is_a_file_all_the_same(self, tmp_path, format):
        write(tmp_path / f"a.{format}", format, [])
        assert read_counts(tmp_path / f"a.{format}") == []

    def test_missing_folder_and_folder(self, tmp_path, format):
        for target in (tmp_path / "absent" / "a.csv", tmp_path):
            with pytest.raises(OutputError, match=r"^cannot write [^\n]+$"), open_writer(target, format):
                pytest.fail("the body ran")

    def test_full_disk_keeps_what_was_written(self, small_disk, format):
        path = small_disk / f"a.{format}"
        rows = many(1_000_000)
        with pytest.raises(OutputError) as caught, open_writer(path, format) as write_row:
            write_until(write_row, rows)
        n_written = next(rows).frame - 1
        assert str(caught.value).startswith(f"cannot write {path}: ")
        partial = small_disk / f"a.partial.{format}"
        assert caught.value.__notes__ == [f"kept so far: {partial}"]
        assert not path.exists()
        frames = [row.frame for row in read_counts(partial)]
        assert frames == list(range(len(frames)))
        assert n_written - 1000 <= len(frames) <= n_written
        assert len(frames) > 1000

    def test_a_reader_that_leaves(self, format):
        code = ("from crowdcount.results import FrameCount, open_writer\n"
                f"with open_writer('-', {format!r}) as write_row:\n"
                "    for k in range(10 ** 7): write_row(FrameCount(k, k / 25, 1.0, 0.0, 2.0))\n")
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, cwd=PROJECT) as process:
            process.stdout.buffer.read(10)
            process.stdout.close()
            said = process.stderr.read()
        assert said.strip().splitlines()[-1].endswith(
            "OutputError: cannot write the standard output: its reader has closed it")
        assert "Exception ignored" not in said

    def test_standard_output(self, format, tmp_path):
        code = ("from crowdcount.results import FrameCount, open_writer\n"
                f"with open_writer('-', {format!r}) as write_row:\n"
                "    write_row(FrameCount(3, 0.12, 1.5, 0.0, 2.0))\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=PROJECT, check=True)
        (tmp_path / f"a.{format}").write_bytes(done.stdout)
        assert read_counts(tmp_path / f"a.{format}") == [FrameCount(3, 0.12, 1.5, 0.0, 2.0)]


@pytest.fixture(params=["file system", "limit"])
def small_disk(request, tmp_path):
    """A folder where no file grows beyond about 128 KiB: a small file system, or a limit of the process."""
    if request.param == "limit":
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, before[1]))
        yield tmp_path
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        return
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "crowdcount-test", str(tmp_path)]
    try:
        mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small file system needs root")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


class TestCsv:
    def test_text(self, tmp_path):
        write(tmp_path / "a.csv", "csv", ROWS)
        assert (tmp_path / "a.csv").read_text() == (
            "frame,time_s,count,low,high,flags\n"
            "0,0.0,3.25,2.0,4.5,\n"
            "1,0.04,,,,undecodable\n"
            "7,0.28,0.0,0.0,1.5,light;outside-range\n")

    def test_wall_clock(self, tmp_path):
        write(tmp_path / "a.csv", "csv", ROWS, start_time=START)
        lines = (tmp_path / "a.csv").read_text().splitlines()
        assert lines[0] == "frame,time_s,time,count,low,high,flags"
        assert lines[3] == "7,0.28,2024-03-02T00:00:00.180+02:00,0.0,0.0,1.5,light;outside-range"

    def test_a_time_after_all_years_is_one_line(self, tmp_path):
        with pytest.raises(DatasetError, match=r"found 0\.28 s after 9999-12-31 23:59:59\.9"):
            write(tmp_path / "a.csv", "csv", ROWS, start_time=datetime.max.replace(microsecond=900_000))
        assert len(read_counts(tmp_path / "a.partial.csv")) == 2

    def test_every_row_is_in_the_file_at_once(self, tmp_path):
        with open_writer(tmp_path / "a.csv", "csv") as write_row:
            for n, row in enumerate(ROWS, start=1):
                write_row(row)
                assert same(read_counts(tmp_path / "a.partial.csv"), ROWS[:n])

    @pytest.mark.parametrize(("text", "said"), [
        ("", "line 1: expected a header with the columns frame, time_s, count, low, high and flags"),
        ("frame,count\n1,2\n", "line 1: expected a header with the columns"),
        ("frame,time_s,count,low,high,flags\n0,0,1,1,1,\n1,0.04,1.5", "line 3: expected 6 values, found 3"),
        ("frame,time_s,count,low,high,flags,count\n0,0,1,1,1,,2\n", "each once, found"),
        ("frame,time_s,count,low,high,flags\n0,0,-1,0,1,\n", "'time_s': '0', 'count': '-1'"),
        ("frame,time_s,count,low,high,flags\n0,0,many,1,1,\n", "line 2: expected values"),
        ("frame,time_s,count,low,high,flags\n,0,1,1,1,\n", "line 2: expected values"),
        ("frame,time_s,count,low,high,flags\n0,1e308,1,1,1,\n", "line 2: expected values"),
        ("frame,time_s,count,low,high,flags\n0,,1,1,1,\n", "line 2: expected values"),
        ("frame,time_s,count,low,high,flags\n0,0,inf,1,1,\n", "line 2: expected values"),
        ("frame,time_s,count,low,high,flags\n" + "1" * 200_000, "is not a text file"),
    ])
    def test_bad_files(self, tmp_path, text, said):
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(DatasetError, match=r"^[^\n]+$") as caught:
            read_counts(tmp_path / "a.csv")
        assert said in str(caught.value)


    def test_of_a_long_row_the_beginning_is_told(self, tmp_path):
        (tmp_path / "a.csv").write_text(f"frame,time_s,count,low,high,flags\n0,0,-1,1,1,{'n' * 9999}\n")
        with pytest.raises(DatasetError, match="'count': '-1'") as caught:
            read_counts(tmp_path / "a.csv")
        assert len(str(caught.value)) < 500

    def test_a_folder_is_named_in_full(self):
        with pytest.raises(DatasetError, match=r"\.csv, \.jsonl, \.parquet file, found \.; rename"):
            read_counts(".")

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
    def test_what_a_spreadsheet_made_of_them_is_read(self, tmp_path, encoding):
        table = ["Frame;Time_s;Count;Low;High;Flags", "0;0;3,25;2;4,5;", '1;0,04; ;;;undecodable ',
                 '7;0,28;0;0;1,5;"light;outside-range"', ";;;;;", ""]
        (tmp_path / "a.csv").write_bytes("\r\n".join(table).encode(encoding))
        assert same(read_counts(tmp_path / "a.csv"), ROWS)


class TestJsonLines:
    def test_text(self, tmp_path):
        write(tmp_path / "a.jsonl", "jsonl", ROWS[1:], start_time=START.replace(tzinfo=None))
        first, second = (json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines())
        assert first == {"frame": 1, "time_s": 0.04, "time": "2024-03-01T23:59:59.940", "count": None,
                         "low": None, "high": None, "flags": ["undecodable"]}
        assert second["flags"] == ["light", "outside-range"]

    @pytest.mark.parametrize("text", [
        "{", "[1]", "{}", '{"frame": 1}', "\x00", "\udcff", "[" * 99_999,
        '{"frame": 1e999, "time_s": 0, "count": 1, "low": 1, "high": 1, "flags": []}',
    ])
    def test_bad_files(self, tmp_path, text):
        write(tmp_path / "a.jsonl", "jsonl", ROWS)
        with (tmp_path / "a.jsonl").open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        with pytest.raises(DatasetError, match="line 4: expected"):
            read_counts(tmp_path / "a.jsonl")

    def test_flags_joined_as_other_programs_make_them_of_a_table(self, tmp_path):
        rows = [{"frame": k, "time_s": k, "count": 2, "low": 1, "high": 3, "flags": flags}
                for k, flags in enumerate(["learning;blank", "noisy", "", None])]
        (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row) + "\n" for row in rows))
        found = [row.flags for row in read_counts(tmp_path / "a.jsonl")]
        assert found == [("learning", "blank"), ("noisy",), (), ()]


class TestParquet:
    def test_columns(self, tmp_path):
        parquet = pytest.importorskip("pyarrow.parquet")
        write(tmp_path / "a.parquet", "parquet", ROWS, start_time=START)
        table = parquet.read_table(tmp_path / "a.parquet")
        assert table.column_names == ["frame", "time_s", "time", "count", "low", "high", "flags"]
        assert table["time"][2].as_py() == START + timedelta(seconds=0.28)
        assert table["count"].null_count == 1
        assert table["flags"].to_pylist() == ["", "undecodable", "light;outside-range"]

    def test_missing_pyarrow_is_told_before_the_first_row(self, tmp_path, monkeypatch):
        (tmp_path / "there.parquet").touch()
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(OutputError, match=r"pip install pyarrow$"):  # the format is there already
            read_counts(tmp_path / "there.parquet")
        with (pytest.raises(OutputError, match=r"pip install pyarrow, or choose csv or jsonl"),
              open_writer(tmp_path / "a.parquet", "parquet")):
            pytest.fail("the body ran")
        assert only(tmp_path) == ["there.parquet"]

    def test_not_to_a_terminal(self):
        code = ("from crowdcount.results import open_writer\n"
                "with open_writer('-', 'parquet'): raise SystemExit('the body ran')\n")
        ours, terminal = pty.openpty()
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, cwd=PROJECT)
        os.close(ours)
        os.close(terminal)
        assert "OutputError: parquet is not for a terminal" in done.stderr.decode()

    def test_a_file_may_be_written_from_a_terminal(self, tmp_path, monkeypatch):
        monkeypatch.setattr("crowdcount.rows.is_terminal_output", lambda: True)
        write(tmp_path / "a.parquet", "parquet", ROWS)
        assert len(read_counts(tmp_path / "a.parquet")) == len(ROWS)

    def test_an_interrupt_is_told_though_the_disk_is_full(self, small_disk):
        path, flags = small_disk / "a.parquet", ("x" * 1000,)
        rows = [FrameCount(k, k / 25, 1.0, 0.0, 2.0, flags) for k in range(900)]  # none is written before
        with pytest.raises(KeyboardInterrupt), open_writer(path, "parquet") as write_row:
            write_until(write_row, rows, KeyboardInterrupt)
        assert not path.exists()

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_missing_file(self, tmp_path, suffix):
        with pytest.raises(DatasetError, match=r"^cannot read .*none\.\w+: no such file[^\n]+$"):
            read_counts(tmp_path / f"none.{suffix}")

    def test_damaged_file(self, tmp_path):
        write(tmp_path / "a.parquet", "parquet", ROWS)
        whole = (tmp_path / "a.parquet").read_bytes()
        (tmp_path / "a.parquet").write_bytes(whole[:-20])
        with pytest.raises(DatasetError, match=r"^[^\n]+not a parquet file, or it is damaged[^\n]+$"):
            read_counts(tmp_path / "a.parquet")

    def test_tables_of_other_programs(self, tmp_path):
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = {"frame": [0], "time_s": [0.0], "count": [2.0], "low": [1.0], "high": [3.0]}
        listed = arrow.table(columns | {"flags": [["noisy", "frozen"]]})  # as of jsonl by DuckDB
        parquet.write_table(listed, tmp_path / "a.parquet")
        assert read_counts(tmp_path / "a.parquet") == [FrameCount(0, 0.0, 2.0, 1.0, 3.0, ("noisy", "frozen"))]
        no_time = arrow.array([2**62], arrow.timestamp("us"))
        for wrong in ({"flags": [7]}, {"flags": [None], "time": no_time}):
            parquet.write_table(arrow.table(columns | wrong), tmp_path / "a.parquet")
            with pytest.raises(DatasetError, match=r"^[^\n]+$"):
                read_counts(tmp_path / "a.parquet")


def test_suffixes_in_capitals(tmp_path):
    write(tmp_path / "A.CSV", "csv", ROWS)
    assert len(read_counts(tmp_path / "A.CSV")) == len(ROWS)


def test_unknown_format_and_suffix(tmp_path):
    with pytest.raises(ValueError, match="expected a format among"), open_writer(tmp_path / "a", "xml"):
        pass
    with pytest.raises(DatasetError, match=r"expected counts in a \.csv, \.jsonl, \.parquet file"):
        read_counts(tmp_path / "a.xml")
    with pytest.raises(DatasetError, match="no such file"):
        read_counts(tmp_path / "a.csv")


def test_what_cannot_be_read_is_said_with_what_to_check(tmp_path):
    with pytest.raises(DatasetError, match="no such file or directory; check its name and permissions"):
        list(read_counts(tmp_path / "absent.csv"))
