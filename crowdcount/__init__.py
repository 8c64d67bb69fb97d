"""Count people in footage of fixed cameras, on a CPU, without a neural network."""

__version__ = "0.1.0"
