"""Cars, vans and buses that drive through a simulated scene: boxes on the ground, shaded face by face."""

from dataclasses import dataclass

import cv2
import numpy as np

from .geometry import Ground

_SUPERSAMPLING = 3
_GLASS_BGR, _TYRE_BGR = (70, 58, 48), (32, 30, 30)
_PAINTS_BGR = (
    (200, 200, 202), (225, 228, 230), (58, 55, 52), (120, 118, 115), (60, 48, 140), (130, 75, 45),
)  # fmt: skip
_LANE, _WHEEL = 3.2, 0.33  # metres: a lane's width, a wheel's radius


@dataclass(frozen=True)
class Shape:
    """Blocks of which a vehicle is made, metres.

    Attributes
    ----------
    blocks : tuple of (back, front, back at the top, front at the top, bottom, top, half width, is glass)
        From low to high; lengths along the vehicle from its middle.
    wheels : tuple of float
        Where along the vehicle they are.
    share : float
        Of the traffic.
    """

    blocks: tuple[tuple[float, float, float, float, float, float, float, bool], ...]
    wheels: tuple[float, ...]
    share: float


CAR = Shape(
    (
        (-2.2, 2.2, -2.15, 2.1, 0.22, 0.88, 0.9, False),
        (-1.9, 1.1, -1.45, 0.45, 0.88, 1.38, 0.8, True),
        (-1.45, 0.45, -1.4, 0.4, 1.38, 1.46, 0.72, False),
    ),
    (-1.3, 1.35),
    0.75,
)
VAN = Shape(
    (
        (-2.6, 2.6, -2.6, 2.45, 0.28, 1.15, 1.0, False),
        (-2.6, 2.2, -2.58, 1.6, 1.15, 2.1, 0.96, False),
    ),
    (-1.6, 1.7),
    0.17,
)
BUS = Shape(
    (
        (-5.6, 5.6, -5.6, 5.6, 0.3, 1.25, 1.25, False),
        (-5.6, 5.6, -5.55, 5.5, 1.25, 2.45, 1.25, True),
        (-5.55, 5.5, -5.5, 5.4, 2.45, 3.0, 1.22, False),
    ),
    (-3.4, 3.3),
    0.08,
)
SHAPES = (CAR, VAN, BUS)


@dataclass(frozen=True)
class Drawn:
    """A vehicle at one moment: its picture, and where it darkens the ground, in pixels of the image.

    Attributes
    ----------
    patch : (h, w, 4) uint8, premultiplied BGRA
    corner, shade_corner : (2,) int, of the picture's and the shade's first pixel, x and y
    shade : (h, w) uint8
    depth : float, metres, of its middle
    """

    patch: np.ndarray
    corner: np.ndarray
    shade: np.ndarray
    shade_corner: np.ndarray
    depth: float


@dataclass(frozen=True)
class Vehicle:
    """One that drives straight on: at `x`, `depth` metres on the ground at `time_s`, towards `heading`."""

    shape: Shape
    paint_bgr: tuple[int, int, int]
    time_s: float
    x: float
    depth: float
    heading: float  # radians from the ground's x axis
    speed: float  # metres per second

    def drawn(self, time_s: float, ground: Ground, sun: tuple[float, float]) -> Drawn | None:
        """What it looks like; None where it is not, or not wholly on the ground that can be drawn."""
        along = np.array([np.cos(self.heading), np.sin(self.heading)])
        middle = np.array([self.x, self.depth]) + (time_s - self.time_s) * self.speed * along
        half = max(abs(end) for block in self.shape.blocks for end in block[:2])
        if not ground.near_depth < middle[1] - half * abs(along[1]) or middle[1] + half > ground.far_depth:
            return None
        across = np.array([-along[1], along[0]])

        def pixels(points):  # (n, 3) metres: along, across, up
            place = middle + np.outer(points[:, 0], along) + np.outer(points[:, 1], across)
            return np.column_stack(ground.to_pixels(*place.T, points[:, 2]))

        faces = [face for block in self.shape.blocks for face in self._faces(block, pixels)]
        corners = np.concatenate([points for points, _ in faces])
        low, high = np.floor(corners.min(0)).astype(int) - 1, np.ceil(corners.max(0)).astype(int) + 2
        if high[0] < 0 or low[0] > ground.size_wh[0]:
            return None
        patch = np.zeros((*(_SUPERSAMPLING * (high - low))[::-1], 4), np.uint8)
        for points, colour in faces:
            scaled = np.rint(16 * _SUPERSAMPLING * (points - low)).astype(np.int32)
            cv2.fillConvexPoly(patch, scaled, (*colour, 255), cv2.LINE_8, 4)
        patch = cv2.resize(patch, tuple(int(side) for side in high - low), interpolation=cv2.INTER_AREA)
        drift = (np.dot(sun, along), np.dot(sun, across))
        return Drawn(patch, low, *self._shade(pixels, drift), float(middle[1]))

    def _faces(self, block, pixels):
        """Polygons in pixels and their colours, of a block's faces that are turned to the camera."""
        back, front, upper_back, upper_front, bottom, top, half, is_glass = block
        ends = [(back, bottom), (front, bottom), (upper_front, top), (upper_back, top)]
        paint = np.array(_GLASS_BGR if is_glass else self.paint_bgr, float)
        right = np.array([(along, -half, up) for along, up in ends])
        left = right * (1, -1, 1)
        for light, one, other in ((0.7, 1, 2), (1.0, 2, 3), (0.6, 3, 0)):  # front, roof, back
            place = pixels(np.array([right[one], left[one], left[other], right[other]]))
            if _faces_camera(place):
                yield place, tuple((light * paint).tolist())
        for points in (right, left[::-1]):
            place = pixels(points)
            if _faces_camera(place):
                yield place, tuple((0.8 * paint).tolist())
                if block is self.shape.blocks[0]:
                    yield from self._wheels(points[0, 1], pixels)

    def _wheels(self, across, pixels):
        turn = np.linspace(0, 2 * np.pi, 17)[:-1]
        for along in self.shape.wheels:
            up = _WHEEL + _WHEEL * np.sin(turn)
            rim = np.column_stack([along + _WHEEL * np.cos(turn), np.full(len(turn), across), up])
            yield pixels(rim), _TYRE_BGR

    def _shade(self, pixels, drift):
        """Where it keeps light from the ground, an 8-bit picture and its corner; the sun's shadow lies
        `drift` metres along and across for each metre of height."""
        points = []
        for back, front, _, _, _, top, half, _ in self.shape.blocks:
            for along in (back, front):
                for across in (-half, half):
                    points += [(along, across, 0.0), (along + top * drift[0], across + top * drift[1], 0.0)]
        outline = cv2.convexHull(pixels(np.array(points)).astype(np.float32))[:, 0]
        low, high = np.floor(outline.min(0)).astype(int) - 6, np.ceil(outline.max(0)).astype(int) + 6
        shade = np.zeros((high - low)[::-1], np.uint8)
        cv2.fillConvexPoly(shade, np.rint(16 * (outline - low)).astype(np.int32), 255, cv2.LINE_AA, 4)
        return cv2.GaussianBlur(shade, (0, 0), 1.5), low


def _faces_camera(place: np.ndarray) -> bool:
    """Whether a face, its corners (4, 2) in order seen from outside, is turned to the camera."""
    return cv2.contourArea(place.astype(np.float32), oriented=True) < 0


def traffic(ground: Ground, random: np.random.Generator, per_minute: float, duration: float) -> list[Vehicle]:
    """Vehicles that drive along a road of two lanes, so many a minute.

    Parameters
    ----------
    ground : Ground
    random : numpy Generator
    per_minute : float
        Mean number that arrive in a minute.
    duration : float
        Of the clip, seconds.
    """
    if not per_minute:
        return []
    rows = ground.far_row + random.uniform(0.25, 0.6) * (ground.size_wh[1] - ground.far_row)
    depth, slant = float(ground.depth_of(rows)), random.uniform(-0.25, 0.25)
    speed = random.uniform(3.0, 9.0)
    shares = np.array([shape.share for shape in SHAPES])
    found = []
    for _ in range(random.poisson(per_minute * duration / 60)):
        lane = random.integers(2)
        found.append(
            Vehicle(
                SHAPES[random.choice(len(SHAPES), p=shares / shares.sum())],
                _PAINTS_BGR[random.integers(len(_PAINTS_BGR))],
                random.uniform(0, duration),
                0.0,
                depth + _LANE * (lane - 0.5),
                slant + np.pi * lane,
                speed * random.uniform(0.8, 1.2),
            )
        )
    return found
