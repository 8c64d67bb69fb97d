"""features and models stay leaves: they import neither each other nor the application."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
OURS = {"crowdcount", "features", "models", "samples"}


@pytest.mark.parametrize("package", ["features", "models"])
def test_leaf_packages_import_nothing_of_ours(package):
    files = sorted((PROJECT / package).rglob("*.py"))
    assert files
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            outside = {name.split(".")[0] for name in names} & OURS
            assert not outside, f"{file.name}:{node.lineno} imports {outside}"


def test_no_init_files_under_tests():
    assert not list((PROJECT / "tests").rglob("__init__.py"))


@pytest.mark.parametrize(
    ("work", "others"),
    [
        (
            "import crowdcount.jobs, crowdcount.terminal; crowdcount.default_model()",
            {"scipy", "sklearn", "matplotlib", "pyarrow", "rich", "crowdcount.learning", "crowdcount.alarm"},
        ),
        ("import crowdcount.terminal, crowdcount.tables", {"numpy"}),
        ("import crowdcount.batch.report", {"cv2", "pydantic", "crowdcount.model", "crowdcount.video"}),
        ("import crowdcount.forecast, crowdcount.terminal", {"cv2", "pydantic", "crowdcount.video"}),
        ("import crowdcount.learning.suggestion, crowdcount.learning.explain", {"scipy", "sklearn", "rich"}),
    ],
)
def test_work_loads_nothing_that_it_does_without(work, others):
    """SciPy and scikit-learn take a second to load, Matplotlib half of one, models and videos a fifth."""
    code = f"import sys; {work}; print({others} & set(sys.modules))"
    loaded = subprocess.check_output([sys.executable, "-c", code], cwd=PROJECT, text=True)
    assert loaded.strip() == "set()"
