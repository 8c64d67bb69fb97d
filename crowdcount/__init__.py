"""Count people in footage of fixed cameras, on a CPU, without a neural network.

>>> import crowdcount
>>> for row in crowdcount.count("street.mp4"):                           # doctest: +SKIP
...     print(row.time_s, row.count)
>>> dataset = crowdcount.load_dataset("mall/")                           # doctest: +SKIP
>>> training = crowdcount.train(dataset, frames="1-800")                 # doctest: +SKIP
>>> crowdcount.evaluate(dataset, training.model, frames="1-800").metrics # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and editors, which cannot follow `__getattr__`
    from .counting import count, open_counting
    from .errors import CrowdCountError
    from .learning.audit import audit_labels
    from .learning.datasets import load_dataset
    from .learning.recalibration import recalibrate
    from .learning.suggestion import suggest
    from .learning.training import evaluate, train
    from .model import default_model, load_model
    from .results import FrameCount
    from .scene import estimate_scene, load_scene, scene_from
    from .video import parse_position

__version__ = "0.1.0"

_HOMES = {
    "audit_labels": "learning.audit",
    "count": "counting",
    "open_counting": "counting",
    "load_dataset": "learning.datasets",
    "CrowdCountError": "errors",
    "default_model": "model",
    "load_model": "model",
    "FrameCount": "results",
    "estimate_scene": "scene",
    "load_scene": "scene",
    "recalibrate": "learning.recalibration",
    "scene_from": "scene",
    "suggest": "learning.suggestion",
    "evaluate": "learning.training",
    "train": "learning.training",
    "parse_position": "video",
}

# As a plain list, which type checkers read.
__all__ = [
    "CrowdCountError",
    "FrameCount",
    "__version__",
    "audit_labels",
    "count",
    "default_model",
    "estimate_scene",
    "evaluate",
    "load_dataset",
    "load_model",
    "load_scene",
    "open_counting",
    "parse_position",
    "recalibrate",
    "scene_from",
    "suggest",
    "train",
]


def __getattr__(name):
    """Import a public name where it is first asked for: the parts cost up to a second each to load."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name != "CrowdCountError":  # which says so
        import_module(".packages", __name__).check_packages()
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__():
    """The public names too, before they are asked for: consoles complete them."""
    return sorted({*globals(), *__all__})
