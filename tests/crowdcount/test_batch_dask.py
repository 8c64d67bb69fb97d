"""A batch on a real Dask cluster: a scheduler and two workers, started on the loopback address."""

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from crowdcount.batch.engines import DaskEngine
from crowdcount.batch.progress import BatchTerminal

distributed = pytest.importorskip("distributed")
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with started(tmp_path_factory) as found:
        yield found


@contextmanager
def started(tmp_path_factory):
    """Address of a scheduler with two workers of one thread each, and their processes, its own first."""
    folder = tmp_path_factory.mktemp("dask")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    environment = os.environ | {"PYTHONPATH": str(PROJECT), "no_proxy": "127.0.0.1"}
    scheduler = ["scheduler", "--host", address, "--no-dashboard", "--no-show"]
    worker = ["worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
    with ExitStack() as stack:
        log = stack.enter_context((folder / "log").open("w"))
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
                    cwd=folder,
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            )
            for arguments in (scheduler, worker, worker)
        ]
        for process in processes:
            stack.callback(process.kill)
        until = time.monotonic() + 90
        while (folder / "log").read_text().count("Registered to") < 2:
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.05)
        yield address, processes


@pytest.fixture(scope="module")
def archive(tmp_path_factory, make_clip, cell_model, street):
    folder = tmp_path_factory.mktemp("archive")
    make_clip(folder / "videos/gate/20240501_080000.avi", 30, seed=1)
    make_clip(folder / "videos/hall/long.avi", 150, seed=3)
    (folder / "videos/hall/bad.avi").write_text("no video")
    cell_model.save(folder / "model.npz")
    street.scene.save(folder / "scene.json")
    return folder


def test_a_cluster_gives_the_same_bytes_as_one_machine(cluster, archive, run, tmp_path, results):
    address, (_, worker, _) = cluster
    command = (
        f"batch {archive}/videos -m {archive}/model.npz --scene {archive}/scene.json --segment 5 --warm-up 2"
    )
    code, _, stderr = run(f"{command} -o {tmp_path}/many --engine dask --scheduler {address}")
    assert code == 3
    assert "bad.avi cannot be read as a video" in stderr
    assert re.search(r"3 videos: 2 counted, 1 failed; .* frames/s$", stderr)
    assert run(f"{command} -o {tmp_path}/one --workers 1")[0] == 3
    assert results(tmp_path / "many") == results(tmp_path / "one")
    assert len(results(tmp_path / "one")) == 2
    code, _, stderr = run(f"{command} -o {tmp_path}/many --engine dask --scheduler {address}")
    assert "0 counted, 2 done before, 1 failed" in stderr

    worker.kill()  # the cluster is smaller then, and goes on
    code, _, stderr = run(f"{command} -o {tmp_path}/fewer --engine dask --scheduler {address}")
    assert (code, results(tmp_path / "fewer")) == (3, results(tmp_path / "one"))


def test_a_scheduler_that_dies_is_told_and_no_video_blamed(
    tmp_path_factory, archive, run, tmp_path, monkeypatch
):
    """It was a traceback, and a video was said to have been given up."""
    with started(tmp_path_factory) as (address, (scheduler, *_)):
        monkeypatch.setattr(BatchTerminal, "working", lambda *_: scheduler.kill())
        code, _, stderr = run(
            f"batch {archive}/videos -o {tmp_path}/out --exclude bad.avi --engine dask --scheduler {address}"
        )
    *_, summary, error = stderr.splitlines()
    assert code == 1
    assert error == (
        f"crowdcount: the Dask scheduler at {address} is gone; start it and run the same command again"
    )
    assert re.match(r"2 videos: [01] counted; ", summary)
    assert "failed" not in stderr
    assert len(stderr.splitlines()) <= 4


def test_a_result_that_was_on_its_way_when_the_scheduler_died_blames_no_video(monkeypatch):
    """The connection broke, and the video was said to have been given up."""
    monkeypatch.setattr("distributed.Client", Mock())
    engine = DaskEngine("tcp://127.0.0.1:9")
    engine._finish(3, Mock(result=Mock(side_effect=distributed.comm.CommClosedError("reset by peer"))))
    event = engine.events.get()
    assert (event.number, event.outcome.kind) == (3, "cluster")
    assert "tcp://127.0.0.1:9 is gone" in event.outcome.error


def test_a_cluster_that_does_not_answer(archive, run, tmp_path, monkeypatch):
    monkeypatch.setattr("crowdcount.batch.engines._CONNECT_S", 1.0)
    code, _, stderr = run(
        f"batch {archive}/videos -o {tmp_path}/out --engine dask --scheduler tcp://127.0.0.1:9"
    )
    assert code == 1
    assert stderr.endswith(
        "crowdcount: no Dask scheduler answers at tcp://127.0.0.1:9; check its address, as tcp://HOST:8786\n"
    )


def test_without_dask(archive, run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, stderr = run(
        f"batch {archive}/videos -o {tmp_path}/out --engine dask --scheduler tcp://127.0.0.1:9"
    )
    assert (code, stderr) == (1, "crowdcount: --engine dask needs Dask: pip install distributed\n")


@pytest.mark.parametrize("options", ["--engine dask", "--scheduler tcp://127.0.0.1:9"])
def test_engine_and_scheduler_belong_together(run, tmp_path, options):
    code, _, stderr = run(f"batch {tmp_path} -o {tmp_path}/out {options}")
    assert (code, "belong together" in stderr) == (2, True)
