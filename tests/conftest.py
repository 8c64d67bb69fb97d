"""What every test shares: the place of the real data sets, and no test may log an ERROR unnoticed."""

import os

# Small matrices on busy cores: threads that wait for each other make the tests many times slower. Has to be
# said before numpy is imported, and reaches the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import logging
from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent

# The same examples in every run, however busy the machine: what changed is what a failure is about.
settings.register_profile("crowdcount", derandomize=True, deadline=None)
settings.load_profile("crowdcount")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets (CROWDCOUNT_DATA, by default ../shared/data); skips where it is absent."""
    folder = Path(os.environ.get("CROWDCOUNT_DATA", PROJECT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data sets are absent ({folder}); set CROWDCOUNT_DATA to their folder")
    return folder


@pytest.fixture(autouse=True)
def _no_error_is_logged(caplog):
    yield
    errors = [r.getMessage() for r in caplog.get_records("call") if r.levelno >= logging.ERROR]
    assert not errors, f"the test logged errors: {errors}"
