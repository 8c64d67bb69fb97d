"""What is claimed, measured: one program for each claim, `python -m benchmarks.NAME`."""
