"""Count people in footage of fixed cameras, on a CPU, without a neural network.

>>> import crowdcount
>>> for row in crowdcount.count("street.mp4"):                           # doctest: +SKIP
...     print(row.time_s, row.count)
>>> dataset = crowdcount.load_dataset("mall/")                           # doctest: +SKIP
>>> training = crowdcount.train(dataset, frames="1-800")                 # doctest: +SKIP
>>> crowdcount.evaluate(dataset, training.model, frames="1-800").metrics # doctest: +SKIP
"""

from importlib import import_module

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

__all__ = ["__version__", *_HOMES]


def __getattr__(name):
    """Import a public name where it is first asked for: the parts cost up to a second each to load."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name != "CrowdCountError":  # which says so
        import_module(".packages", __name__).check_packages()
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
