"""What `import crowdcount` offers, to people, consoles and type checkers."""

import ast
import subprocess
import sys
from pathlib import Path

import crowdcount

TREE = ast.parse(Path(crowdcount.__file__).read_text(encoding="utf-8"))


def imported_for_type_checkers():
    """Each name that is imported under `if TYPE_CHECKING:`, with its module."""
    (block,) = (node for node in TREE.body if isinstance(node, ast.If))
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_type_checkers_see_every_public_name_where_it_is_from():
    """The package says that it is typed; what comes by `__getattr__` alone is of any type to a checker."""
    assert imported_for_type_checkers() == crowdcount._HOMES
    plain = next(node for node in TREE.body if ast.unparse(node).startswith("__all__ ="))
    assert set(ast.literal_eval(plain.value)) == {*crowdcount._HOMES, "__version__"}


def test_consoles_complete_every_public_name_before_it_was_asked_for():
    code = "import crowdcount; print(set(crowdcount.__all__) - set(dir(crowdcount)))"
    listed = subprocess.check_output([sys.executable, "-c", code], cwd=Path(__file__).parents[2], text=True)
    assert listed.strip() == "set()"


def test_every_public_name_is_there():
    assert all(getattr(crowdcount, name) is not None for name in crowdcount.__all__)
