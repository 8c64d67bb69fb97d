"""What is done: the results in a folder, each known by its video's content and by its settings.

The results are the catalogue: OUT/camera=NAME/date=YYYY-MM-DD/STEM-CONTENT-SETTINGS.parquet, with what they
were made of in each file's footer. OUT/.work holds what is not finished, and what was found out about files
that have not changed since, so that the next run need not read them again.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from ..errors import BatchError
from ..rows import import_parquet
from ..storage import WholeWrites, input_errors, lock, output_errors

_NAME = re.compile(r"(.*)-([0-9a-f]{16})-([0-9a-f]{8})\.parquet", re.DOTALL)
#: Folder of the results whose start time is unknown.
NO_DATE = "date=unknown"
_MOST_STEM_BYTES = 120
#: A file that was changed this recently may be changed again without its time showing it.
_RACY_NS = 2_000_000_000
_FACTS = ("content", "size", "mtime_ns", "frames", "fps", "recorded")  # of `examine`
_SAFE = " !#$&'()+,-.;@[]^_`{}~"  # in a folder's name, besides letters and digits


class Catalogue:
    """The results in a folder, and what is known of videos; for one run at a time.

    A run gives the folder of what is not finished, OUT/.work/run-*, a new name. Workers may outlive their
    run, on a cluster by minutes: the folder that they would write to, and publish from, is gone then.

    Parameters
    ----------
    out : path
        Made when it does not exist.
    """

    def __init__(self, out: str | Path):
        self.out = Path(out).absolute()
        self.work = self.out / ".work"
        with output_errors(self.out):
            self.work.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            with output_errors(self.work):
                held = opened.enter_context((self.work / "lock").open("w"))
            if not lock(held):
                raise BatchError(
                    f"another batch is writing to {self.out}; wait for it, or choose another folder"
                )
            self._unfinished = self._take_over()
            self._by_key: dict[tuple[str, str, str], Path] = {}
            self._alike: dict[object, set[Path]] = defaultdict(set)  # by content, and by folder and stem
            for path in results(self.out):
                self._add(path)
            self._wanted: set[Path] = set()
            self._facts = self._read_facts()
            with output_errors(self.work):
                self._notes = WholeWrites(self.work / "known.jsonl", "ab")
            self._held = opened.pop_all()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._notes.close()
        with suppress(OSError):  # it is not empty: the next run goes on from it
            self._unfinished.rmdir()
        self._held.close()

    def _take_over(self) -> Path:
        """Folder of what is not finished: the earlier run's, as this one's."""
        folder = self.work / f"run-{secrets.token_hex(4)}"
        with output_errors(folder):
            earlier = next(self.work.glob("run-*"), None)
            if earlier is None:
                folder.mkdir()
            else:
                earlier.rename(folder)
            for unfinished in folder.glob("*/.*"):  # no worker can publish it any more
                unfinished.unlink(missing_ok=True)
        return folder

    def forget_former(self) -> None:
        """Remove the parts of videos' former settings and contents, once a run has come to its end: nothing
        will go on from them."""
        wanted = {self._work_of(result) for result in self._wanted}
        met = {_parts(result)[1] for result in self._wanted}
        others = {facts["content"][:16] for facts in self._facts.values()} - met  # another batch's videos
        for folder in self._unfinished.iterdir():
            if folder not in wanted and folder.name.partition("-")[0] not in others:
                shutil.rmtree(folder, ignore_errors=True)

    def facts(self, path: str, timezone: str | None) -> dict | None:
        """What `examine` found in a file, if the file has not been changed since."""
        facts = self._facts.get((path, timezone))
        if facts is None:
            return None
        try:
            now = os.stat(path)
        except OSError:
            return None
        return facts if (facts["size"], facts["mtime_ns"]) == (now.st_size, now.st_mtime_ns) else None

    def remember(self, path: str, timezone: str | None, facts: dict) -> None:
        """Keep what `examine` found for later runs."""
        if abs(time.time_ns() - facts["mtime_ns"]) < _RACY_NS:
            return
        self._facts[path, timezone] = facts
        line = json.dumps([path, timezone, facts]).encode() + b"\n"
        with output_errors(self.work / "known.jsonl"):
            self._notes.write(line)

    def _read_facts(self) -> dict[tuple[str, str | None], dict]:
        known = {}
        path = self.work / "known.jsonl"
        if path.exists():
            with path.open("rb") as file:
                for line in file:
                    try:
                        name, timezone, facts = json.loads(line)
                        known[name, timezone] = {fact: facts[fact] for fact in _FACTS}
                    except (ValueError, TypeError, KeyError):  # it was being written when the machine went
                        continue
        return known

    def place(self, stem: str, camera: str, start_time: datetime | None, content: str, settings: str) -> Path:
        """Where a result is or belongs; one of the same camera, content and settings has any stem."""
        key = folder_name(camera), content[:16], settings[:8]
        if key not in self._by_key:
            date = NO_DATE if start_time is None else f"date={start_time.date().isoformat()}"
            short = stem.encode()[:_MOST_STEM_BYTES].decode(errors="ignore")
            name = f"{short}-{content[:16]}-{settings[:8]}.parquet"
            self._by_key[key] = self.out / folder_name(camera) / date / name
        self._wanted.add(self._by_key[key])
        return self._by_key[key]

    def is_done(self, result: Path) -> bool:
        """Whether this result of `place` is there, and its footer not cut off or overwritten since."""
        if result not in self._alike.get(_parts(result)[1], ()):
            return False
        try:
            describe(result)
        except BatchError:
            return False
        return True

    def is_begun(self, result: Path) -> bool:
        """Whether `begin` made its folder and `finish` has not removed it yet, which it does last."""
        return self._work_of(result).exists()

    def begin(self, result: Path) -> Path:
        """Make the folders of a result of `place`; returns the one of what is not finished."""
        work = self._work_of(result)
        with output_errors(work):
            work.mkdir(exist_ok=True)
        with output_errors(result):
            result.parent.mkdir(parents=True, exist_ok=True)
        return work

    def finish(self, result: Path) -> list[Path]:
        """Take a result in that is complete, and remove what it replaces and its parts; returns the former.

        Replaced is the same video's result of other settings: of the same file and start time, or of the same
        content, camera and start time; and that of the one file of its content which has another name or
        folder now, with another camera or start time in it. BatchError when it cannot be told whether one
        is, as it is damaged.
        """
        self._add(result)
        replaced = self._replaced(result)
        for path in replaced:
            with output_errors(path):
                path.unlink(missing_ok=True)
            stem, content, _ = _parts(path)
            self._alike[content].discard(path)
            self._alike[path.parent, stem].discard(path)
        shutil.rmtree(self._work_of(result), ignore_errors=True)
        return replaced

    def _replaced(self, result: Path) -> list[Path]:
        stem, content, _ = _parts(result)
        others = (self._alike[content] | self._alike[result.parent, stem]) - self._wanted
        if not others:
            return []
        ours = describe(result)
        found = {path: describe(path) for path in sorted(others)}
        replaced = [path for path, theirs in found.items() if _is_replaced(theirs, ours)]
        moved = [path for path, theirs in found.items() if _was_moved(theirs, ours) and path not in replaced]
        return replaced + (moved if len(moved) == 1 else [])  # one file has not been two

    def _work_of(self, result: Path) -> Path:
        _, content, settings = _parts(result)
        return self._unfinished / f"{content}-{settings}"

    def _add(self, path: Path) -> None:
        parts = _parts(path)
        if parts is not None:
            stem, content, settings = parts
            self._by_key[path.parent.parent.name, content, settings] = path
            self._alike[content].add(path)
            self._alike[path.parent, stem].add(path)


def results(out: str | Path) -> Iterator[Path]:
    """Files of the results in a folder; BatchError where a part of it cannot be read."""
    with input_errors(out, BatchError):
        cameras = sorted(name for name in os.listdir(out) if name.startswith("camera="))
    for camera in cameras:
        for folder, _, names in os.walk(Path(out, camera), onerror=_refuse_unless_gone):
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(".parquet"))


def _refuse_unless_gone(error: OSError) -> None:
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        with input_errors(error.filename, BatchError):
            raise error


def is_result(path: str) -> bool:
    """Whether a file is named as a result."""
    return _parts(Path(path)) is not None


def describe(result: Path) -> dict:
    """What a result was made of, from its footer; BatchError when it is no result, or cannot be read."""
    arrow, parquet = import_parquet()
    try:
        with open(result, "rb") as file:
            kept = parquet.read_schema(file).metadata or {}
        return json.loads(kept[b"crowdcount"])
    except (OSError, KeyError, ValueError, arrow.ArrowException) as error:
        if getattr(error, "errno", None) is not None:  # the disk's; Arrow's of what it read has none
            with input_errors(result, BatchError):
                raise
        raise BatchError(
            f"{result} is not a result of crowdcount batch, or it is damaged; remove it and run the batch "
            "again"
        ) from error


def settings_digest(description: dict) -> str:
    """Digest of all in a `Job.description` that the counts depend on, besides the video's content."""
    chosen = {
        name: description[name] for name in ("camera", "start_time", "model", "scene", "every", "split")
    }
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()


def _is_replaced(theirs: dict, ours: dict) -> bool:
    same = {name for name in ("source", "content", "camera", "start_time") if theirs.get(name) == ours[name]}
    of_one_start = "start_time" in same and ours["start_time"] is not None
    return (
        {"source", "content"} <= same
        or {"content", "camera", "start_time"} <= same
        or ("source" in same and of_one_start)
    )


def _was_moved(theirs: dict, ours: dict) -> bool:
    """Whether a result is of the same content in a file that is gone, not out of reach for now."""
    if theirs.get("content") != ours["content"]:
        return False
    try:
        os.stat(theirs["source"])
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def _parts(path: Path) -> tuple[str, str, str] | None:
    """Stem, content and settings in a result's name."""
    found = _NAME.fullmatch(path.name)
    return None if found is None else (found[1], found[2], found[3])


def folder_name(camera: str) -> str:
    """The folder of a camera's results: what a partition may not hold is written as %XX."""
    return f"camera={quote(camera, safe=_SAFE, errors='surrogateescape')}"
