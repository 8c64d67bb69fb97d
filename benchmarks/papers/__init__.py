"""The published experiments of the methods in `models`: python -m benchmarks.papers METHOD.

A module per method with `EXPERIMENTS`, a dict of functions by name: each takes `quick` (bool: the tiny size
that the tests run, its figures mean nothing) and returns or yields `Table`s. Figures of a paper stand beside
ours, with seeds and numbers of runs.
"""
