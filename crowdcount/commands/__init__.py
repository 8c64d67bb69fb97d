"""The commands, one per file: each parses and calls one function that does not know click.

Everything that takes time to import is imported by the commands that need it, when they run.
"""

from .alarm import alarm
from .audit import audit
from .batch import batch
from .compress import compress
from .count import count
from .evaluate import evaluate
from .explain import explain
from .forecast import forecast
from .recalibrate import recalibrate
from .report import report
from .scene import scene
from .suggest import suggest
from .train import train

#: In the order of the overview.
COMMANDS = (
    count, scene, suggest, train, evaluate, recalibrate, audit, compress, explain, forecast, alarm,
    batch, report,
)  # fmt: skip
