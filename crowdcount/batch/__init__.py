"""Counting whole archives: many videos, on one machine or a cluster, resumed where it was broken off.

`plan` finds the videos, their cameras and start times; `run` leads them through the tasks of `work`, which an
engine (`engines`) has done in processes of their own (`worker`); `catalogue` knows what is done; `report`
sums up.
"""
