"""Frame to numbers: foreground, perspective and the three views of features (size, edges, texture).

A leaf package: numpy and OpenCV only, arrays in, arrays out. It knows neither `crowdcount` nor `models`.
"""
