"""What stands around the people: floors, walls, shop fronts, plants and objects, and what they hide."""

from dataclasses import dataclass

import cv2
import numpy as np

from .geometry import Ground
from .scenes import SceneSpec

MARGIN = 32  # pixels drawn around the image, so that a moved camera sees more of the same scene
_TILE_SCALE = 64  # floor texture pixels per metre
_TILE_METRES = 9
_PLANT_STATES = 9
_OUTDOORS = ("shops", "brick", "plaster", "glass", "hedge")
_FACADES = {
    "street": ("shops", "shops", "glass", *_OUTDOORS),
    "plaza": _OUTDOORS,
    "mall": ("shops", "shops", "plaster"),
    "walkway": _OUTDOORS,
}


@dataclass(frozen=True, eq=False)
class Plant:
    """A plant's states while it sways: patches of the picture and of the depth map, at a corner of both."""

    corner: tuple[int, int]
    pictures: tuple
    depths: tuple
    rate: float
    offset: float


@dataclass(frozen=True, eq=False)
class Scenery:
    """The empty scene, with MARGIN pixels more on each side than the image.

    picture is (H, W, 3) uint8; depth (H, W) float32 holds the metres from the image's last row to what stands
    there, and infinity where nothing can hide a person (the floor, open doors); light (H, W) float32 is how
    bright a person's place is; doors, obstacles and seats are as Floor has them.
    """

    picture: np.ndarray
    depth: np.ndarray
    light: np.ndarray
    plants: tuple
    doors: tuple
    obstacles: tuple
    seats: tuple


def build_scenery(spec: SceneSpec, ground: Ground, rng: np.random.Generator) -> Scenery:
    """Draw the empty scene of a spec."""
    return _Builder(spec, ground, rng).build()


def _noise(rng, shape, sigma: float) -> np.ndarray:
    """Smooth noise of unit spread that wraps around, float32."""
    height, width = shape
    factor = max(1, int(sigma / 3))
    small = rng.standard_normal((max(4, height // factor), max(4, width // factor))).astype(np.float32)
    pad = int(4 * sigma / factor) + 2
    padded = (
        cv2.copyMakeBorder(small, pad, pad, pad, pad, cv2.BORDER_WRAP) if pad < min(small.shape) else small
    )
    soft = cv2.GaussianBlur(padded, (0, 0), max(sigma / factor, 0.3))
    if padded is not small:
        soft = soft[pad:-pad, pad:-pad]
    return cv2.resize(soft / max(soft.std(), 1e-6), (width, height), interpolation=cv2.INTER_LINEAR)


def _paint(rng) -> tuple[float, float, float]:
    """The BGR colour of a thing on show: mostly muted, now and then bright."""
    pixel = np.uint8([[[rng.integers(180), 255 * rng.beta(1.0, 2.6), rng.uniform(20, 235)]]])
    return tuple(float(c) for c in cv2.cvtColor(pixel, cv2.COLOR_HSV2BGR)[0, 0])


def _tint(rng, value: float, spread: float = 0.04) -> np.ndarray:
    return np.float32(value * (1 + rng.normal(0, spread, 3)))


class _Builder:
    def __init__(self, spec: SceneSpec, ground: Ground, rng: np.random.Generator):
        self._spec, self._ground, self._rng = spec, ground, rng
        width, height = spec.size_wh
        self._shape = (height + 2 * MARGIN, width + 2 * MARGIN)
        self._picture = np.zeros((*self._shape, 3), np.float32)
        self._depth = np.full(self._shape, np.inf, np.float32)
        rows, columns = np.mgrid[: self._shape[0], : self._shape[1]].astype(np.float32)
        self._rows, self._columns = rows - MARGIN, columns - MARGIN
        self._doors, self._obstacles, self._seats, self._plants = [], [], [], []
        self._indoor = spec.setting == "mall"

    def build(self) -> Scenery:
        self._floor()
        self._back_wall()
        for sign, distance in zip((-1, 1), self._spec.side_walls, strict=True):
            if distance is not None:
                self._side_wall(sign, distance)
        objects = [self._random_object for _ in range(self._spec.occluders)]
        objects += [self._plant] * self._spec.plants
        spots = [self._object_spot() for _ in objects]
        order = np.argsort([-depth for _, depth in spots])
        swaying = []
        for index in order:
            made = objects[index](*spots[index])
            if made is not None:
                swaying.append(made)
        light = self._light()
        picture = np.clip(self._picture * light[..., None], 0, 255)
        self._plants = [self._sway(picture, *box) for box in swaying]
        return Scenery(
            picture.astype(np.uint8),
            self._depth,
            light,
            tuple(self._plants),
            tuple(self._doors),
            tuple(self._obstacles),
            tuple(self._seats),
        )

    # ------------------------------------------------------------------------------------------ the floor

    def _floor(self):
        """Map a floor texture onto the ground by the perspective of each row."""
        ground, rng = self._ground, self._rng
        rows = self._rows[:, 0]
        seen = np.maximum(rows, self._spec.far_row - 1)
        depth = ground.depth_of(seen)
        scale = ground.pixels_per_metre(seen)
        x = (self._columns - self._spec.size_wh[0] / 2) / scale[:, None]
        z = np.repeat(depth[:, None], self._shape[1], 1)
        angle = rng.choice([0.0, rng.uniform(-0.8, 0.8)])
        across, along = x * np.cos(angle) - z * np.sin(angle), x * np.sin(angle) + z * np.cos(angle)
        kinds = (
            ["tiles", "slabs", "polished"]
            if self._indoor
            else ["asphalt", "paving", "cobbles", "slabs", "tiles"]
        )
        floor = self._textured(str(rng.choice(kinds)), across, along, scale, seen)
        if not self._indoor and rng.random() < 0.6:  # grass, a road or another pavement beside the way
            other = self._textured(
                str(rng.choice(["grass", "grass", "asphalt", "paving"])), across, along, scale, seen
            )
            bend = rng.uniform(-0.05, 0.05)
            edge = rng.uniform(0.15, 0.85) * ground.far_depth + rng.normal(0, 0.25) * x + bend * x**2
            side = np.clip((z - edge) * scale[:, None] * 0.5, -1, 1)
            share = (side if rng.random() < 0.5 else -side)[..., None] / 2 + 0.5
            kerb = np.exp(-(((z - edge) / 0.12) ** 2))[..., None] * 40
            floor = floor * share + other * (1 - share) + kerb
        broad = self._ground_noise(x, z, 6.0)
        floor = floor * (1 + 0.05 * broad[..., None])
        if rng.random() < 0.5:
            self._lines(floor, x, z)
        self._picture[:] = floor

    def _ground_noise(self, x, z, metres: float):
        noise = _noise(self._rng, (256, 256), 8.0)
        u = ((x + 500) * 8 / metres % 256).astype(np.float32)
        v = ((z + 500) * 8 / metres % 256).astype(np.float32)
        return cv2.remap(noise, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)

    def _textured(self, kind: str, x, z, scale, seen):
        """The floor's colours, sampled from the pyramid level that suits each row's resolution."""
        texture = self._tile(kind)
        levels = [texture]
        while levels[-1].shape[0] > 12:
            levels.append(cv2.resize(levels[-1], None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA))
        squeeze = np.sin(self._ground.depression_at(seen)) ** 0.75
        level = np.clip(np.log2(_TILE_SCALE / (scale * squeeze)) + 0.3, 0, len(levels) - 1.001)
        result = np.zeros((*self._shape, 3), np.float32)
        for index, image in enumerate(levels):
            weight = np.clip(1 - np.abs(level - index), 0, 1).astype(np.float32)
            used = weight > 0
            if used.any():
                side = image.shape[0]
                per_metre = side / _TILE_METRES
                u = np.float32((x[used] * per_metre) % side)
                v = np.float32((z[used] * per_metre) % side)
                sampled = cv2.remap(image, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
                result[used] += sampled * weight[used][:, None, None]
        return result

    def _tile(self, kind: str) -> np.ndarray:
        """A square of floor that repeats, (576, 576, 3) float32."""
        rng = self._rng
        side = _TILE_SCALE * _TILE_METRES
        fine, middle = _noise(rng, (side, side), 0.8), _noise(rng, (side, side), 6)
        if kind == "grass":
            blades = _noise(rng, (side, side), 1.5)
            value = 1 + 0.10 * fine + 0.12 * blades + 0.10 * middle
            green = rng.uniform(70, 105)
            return value[..., None] * np.float32(
                [rng.uniform(0.45, 0.65) * green, green, rng.uniform(0.75, 1.0) * green]
            )
        if kind == "asphalt":
            value = 1 + 0.05 * fine + 0.04 * middle
            image = value[..., None] * _tint(rng, rng.uniform(70, 150), 0.02)
            for _ in range(int(rng.integers(0, 6))):  # repaired patches and cracks
                a, b = rng.integers(0, side, 2), rng.integers(0, side, 2)
                cv2.line(image, tuple(map(int, a)), tuple(map(int, b)), (55, 55, 55), 2, cv2.LINE_AA)
            return image
        if kind == "polished":
            value = 1 + 0.02 * fine + 0.04 * middle
            return value[..., None] * _tint(rng, rng.uniform(120, 215))
        sizes = {
            "tiles": (0.4, 0.6, 1.0),
            "slabs": (0.75, 1.0, 1.5),
            "paving": (0.2, 0.25, 0.3),
            "cobbles": (0.1, 0.12),
        }
        pitch = int(float(rng.choice(sizes[kind])) * _TILE_SCALE)
        count = side // pitch
        jitter = {"tiles": 0.03, "slabs": 0.05, "paving": 0.06, "cobbles": 0.10}[kind]
        cells = 1 + jitter * rng.standard_normal((count, count))
        per_cell = cv2.resize(
            np.float32(cells), (count * pitch, count * pitch), interpolation=cv2.INTER_NEAREST
        )
        value = cv2.resize(per_cell, (side, side), interpolation=cv2.INTER_NEAREST)
        value = value + 0.02 * fine + 0.03 * middle
        image = value[..., None] * _tint(rng, rng.uniform(80, 200))
        joint = np.float32(rng.uniform(0.6, 0.9) if kind != "cobbles" else 0.75)
        step = side / count
        for index in range(count):
            at = round(index * step)
            image[at : at + 2] *= joint
            if kind in ("paving", "cobbles"):  # courses offset by half a stone
                top, low = at, round((index + 1) * step)
                for column in range(count):
                    start = round((column + 0.5 * (index % 2)) * step) % side
                    image[top:low, start : start + 2] *= joint
            else:
                image[:, at : at + 2] *= joint
        return image

    def _lines(self, floor, x, z):
        """Painted or inlaid figures: bands, a ring."""
        rng = self._rng
        gain = rng.uniform(0.6, 1.5)
        if rng.random() < 0.4:
            centre_x, centre_z = rng.uniform(-4, 4), rng.uniform(0.1, 0.6) * self._ground.far_depth
            radius = np.hypot(x - centre_x, z - centre_z)
            ring = np.abs(radius - rng.uniform(1.5, 5)) < rng.uniform(0.06, 0.5)
        else:
            angle = rng.uniform(0, np.pi)
            way = x * np.cos(angle) + z * np.sin(angle)
            ring = np.abs((way % rng.uniform(2.5, 12)) - 1) < rng.uniform(0.04, 0.3)
        floor[ring] = np.clip(floor[ring] * gain + 10 * (gain - 1), 0, 245)

    # ------------------------------------------------------------------------------------------ the walls

    def _facade(self, metres: float, tall: float, per_metre: float):
        """A wall seen from the front, (rows, columns, 3) float32, top row first, and its doors (metres)."""
        rng = self._rng
        height, width = max(8, int(tall * per_metre)), max(8, int(metres * per_metre))
        kind = str(rng.choice(_FACADES[self._spec.setting]))
        wall = _tint(rng, rng.uniform(60, 200), 0.06)
        image = np.ones((height, width, 1), np.float32) * wall
        image *= 1 + 0.05 * _noise(rng, (height, width), 0.3 * per_metre)[..., None]
        image *= 1 + 0.015 * rng.standard_normal((height, width, 1)).astype(np.float32)
        if kind == "hedge":
            value = 0.7 + sum(
                w * _noise(rng, (height, width), s * per_metre + 0.4)
                for w, s in ((0.16, 0.01), (0.16, 0.03), (0.14, 0.1), (0.10, 0.4))
            )
            image = value.clip(0.15, 1.6)[..., None] * np.float32(
                [rng.uniform(35, 55), 80, rng.uniform(58, 80)]
            )
            return np.clip(image, 4, 235), []
        if kind == "brick":
            image *= np.float32([0.62, 0.72, 1.0])
            course = max(2, round(0.075 * per_metre))
            if course >= 3:
                image[::course] *= 0.8
        doors, at = [], rng.uniform(0, 3)
        ground_floor = 3.2
        while at < metres:
            bay = rng.uniform(2.0, 6.0)
            a, b = int((at + 0.15) * per_metre), int((at + bay - 0.15) * per_metre)
            if b - a > 4:
                if kind in ("shops", "glass") or rng.random() < 0.3:
                    self._window(image, a, b, 0.35 if kind == "shops" else 0.8, 2.7, per_metre, bright=True)
                else:
                    self._window(image, a, b, 1.0, 2.4, per_metre, bright=False)
                if kind == "shops" and rng.random() < 0.6:
                    self._sign(image, a, b, 2.8, per_metre)
                storey = ground_floor
                while storey + 2.4 < tall:
                    self._window(image, a, b, storey + 0.9, storey + 2.3, per_metre, bright=False)
                    storey += 3.0
            at += bay
            if rng.random() < 0.35:
                wide = rng.uniform(1.6, 3.0)
                doors.append((at, wide))
                low, top = height, height - int(2.3 * per_metre)
                left, right = int(at * per_metre), int((at + wide) * per_metre)
                cv2.rectangle(
                    image,
                    (left, max(0, top)),
                    (right, low),
                    (70.0, 75.0, 80.0),
                    max(1, int(0.12 * per_metre)),
                )
                image[max(0, top) : low, left:right] = rng.uniform(18, 70)
                at += wide
        return np.clip(image, 4, 250), doors

    def _window(self, image, a, b, low, high, per_metre, *, bright: bool):
        rng = self._rng
        height = image.shape[0]
        top, bottom = max(0, height - int(high * per_metre)), height - int(low * per_metre)
        if bottom - top < 3 or a >= image.shape[1]:
            return
        b = min(b, image.shape[1])
        glass = _tint(
            rng, rng.uniform(15, 80) if not bright or rng.random() < 0.4 else rng.uniform(80, 220), 0.15
        )
        pane = np.ones((bottom - top, b - a, 1), np.float32) * glass
        for _ in range(
            int(rng.integers(3, 14)) if bright else int(rng.integers(0, 4))
        ):  # goods, people inside, lamps
            x, y = rng.integers(0, b - a), rng.integers(0, bottom - top)
            w, h = (rng.uniform(0.06, 0.7, 2) * per_metre).astype(int) + 1
            colour = _paint(rng)
            if rng.random() < 0.5:
                cv2.rectangle(pane, (int(x), int(y)), (int(x + w), int(y + h)), colour, -1)
            else:
                cv2.ellipse(pane, (int(x), int(y)), (int(w // 2 + 1), int(h // 2 + 1)), 0, 0, 360, colour, -1)
        pane = cv2.GaussianBlur(pane, (0, 0), max(0.4, 0.03 * per_metre))
        image[top:bottom, a:b] = pane * 0.85 + 12 * rng.random()
        frame = tuple(float(c) for c in _tint(rng, rng.choice([40.0, 120.0, 215.0]), 0.05))
        thick = max(1, int(0.07 * per_metre))
        for x in np.linspace(a, b, int(rng.integers(2, 5))):
            cv2.line(image, (int(x), top), (int(x), bottom), frame, thick)
        cv2.rectangle(image, (a, top), (b, bottom), frame, thick)

    def _sign(self, image, a, b, low, per_metre):
        rng = self._rng
        top, bottom = image.shape[0] - int((low + 0.7) * per_metre), image.shape[0] - int(low * per_metre)
        if top < 0:
            return
        image[top:bottom, a:b] = _paint(rng)
        letters = "".join(rng.choice(list("ACDEHKLMNORSTU"), int(rng.integers(4, 9))))
        size = 0.45 * per_metre / 22
        ink = np.zeros((bottom - top, b - a), np.uint8)
        cv2.putText(
            ink,
            letters,
            (3, bottom - top - int(0.15 * per_metre)),
            cv2.FONT_HERSHEY_SIMPLEX,
            size,
            255,
            max(1, round(2 * size)),
            cv2.LINE_AA,
        )
        share = np.float32(ink[..., None]) / 255
        band = image[top:bottom, a:b]
        band += (rng.choice([20.0, 235.0], 3) - band) * share[:, : band.shape[1]]

    def _back_wall(self):
        """The wall behind the farthest row; through its doors people come and go."""
        spec, ground, rng = self._spec, self._ground, self._rng
        width = spec.size_wh[0]
        scale = float(ground.pixels_per_metre(spec.far_row))
        upright = scale * np.cos(float(ground.depression_at(spec.far_row)))
        metres, tall = self._shape[1] / scale, (spec.far_row + MARGIN) / upright + 0.2
        facade, doors = self._facade(metres, tall, scale)
        left = -self._shape[1] / 2 / scale
        place = np.float32(
            [[1, 0, 0], [0, upright / scale, spec.far_row + MARGIN - facade.shape[0] * upright / scale]]
        )
        wall = cv2.warpAffine(
            facade, place, self._shape[::-1], flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT
        )
        behind = self._rows < spec.far_row
        self._picture[behind] = wall[behind]
        self._depth[behind] = ground.far_depth
        hiding = ground.far_depth + 0.7
        if not doors:
            doors = [(metres * rng.uniform(0.2, 0.8) - 1, 2.2)]
        for at, wide in doors:
            x = left + at + wide / 2
            column = width / 2 + x * scale
            half = wide / 2 * scale
            opening = (
                behind & (np.abs(self._columns - column) < half) & (self._rows > spec.far_row - 2.3 * upright)
            )
            self._depth[opening] = np.inf
            self._picture[opening] *= 0.3
            if opening.any() and abs(x) < ground.half_width(ground.far_depth):
                side = rng.choice([-1, 1])
                self._doors.append((x, ground.far_depth - 0.4, x + side * (wide / 2 + 0.9), hiding))

    def _side_wall(self, sign: int, distance: float):
        """A wall along the depth, seen at a slant."""
        spec, ground = self._spec, self._ground
        aside = (self._columns - spec.size_wh[0] / 2) * sign
        far_scale = float(ground.pixels_per_metre(spec.far_row))
        base = np.linspace(spec.far_row, spec.size_wh[1] * 2.5, 1200)
        reach = distance * ground.pixels_per_metre(
            base
        )  # columns from the middle of the wall's foot at each row
        foot = np.interp(aside, reach, base)
        wall = (aside > distance * far_scale) & (self._rows < foot)
        if not wall.any():
            return
        scale = ground.pixels_per_metre(foot)
        depth = ground.depth_of(foot)
        up = (foot - self._rows) / (scale * np.cos(ground.depression_at(foot)))
        length, tall = ground.far_depth + 12, 9.0
        per_metre = float(
            np.clip(1.2 * ground.pixels_per_metre(spec.size_wh[1]), 16, min(90, 20_000 / length))
        )
        facade, doors = self._facade(length, tall, per_metre)
        u = np.float32((depth + 11) * per_metre)
        v = np.float32(facade.shape[0] - 1 - up * per_metre)
        colours = cv2.remap(facade, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)[wall]
        depth, up = depth[wall], up[wall]
        self._picture[wall] = colours * self._rng.uniform(0.7, 1.0)
        hides = depth.copy()
        for at, wide in doors:
            start = at - 11
            hides[(depth > start) & (depth < start + wide) & (up < 2.3)] = np.inf
            middle = start + wide / 2
            if 0 < middle < ground.far_depth - 1:
                self._doors.append(
                    (sign * (distance - 0.4), middle, sign * (distance + 0.8), middle - wide / 2 - 0.9)
                )
        self._depth[wall] = np.minimum(hides, self._depth[wall])
        door_hole = np.isinf(hides)
        self._depth[tuple(index[door_hole] for index in np.nonzero(wall))] = np.inf

    # ----------------------------------------------------------------------------------------- the objects

    def _object_spot(self) -> tuple[float, float]:
        ground, rng = self._ground, self._rng
        depth = ground.far_depth * rng.uniform(0.02, 0.95)
        return rng.uniform(-1, 1) * ground.half_width(depth), float(depth)

    def _pixel(self, x, depth, up=0.0) -> tuple[int, int]:
        column, row = self._ground.to_pixels(x, depth, up)
        return round(float(column)) + MARGIN, round(float(row)) + MARGIN

    def _stamp(self, depth: float, mask: np.ndarray):
        self._depth[mask > 0] = depth

    def _random_object(self, x: float, depth: float):
        kinds = {
            "street": (self._pole, self._board, self._bench, self._bin),
            "plaza": (self._pole, self._board, self._bench, self._box, self._bin, self._pole),
            "mall": (self._box, self._bench, self._box, self._board, self._pole, self._bin),
            "walkway": (self._pole, self._board, self._bin),
        }[self._spec.setting]
        kinds[self._rng.integers(len(kinds))](x, depth)

    def _solid(self, x, depth, half_width, deep, tall, colour):
        """A block on the ground: its front and top face."""
        rng = self._rng
        mask = np.zeros(self._shape, np.uint8)
        corners = [
            self._pixel(x + side * half_width, depth, up)
            for side, up in ((-1, 0), (1, 0), (1, tall), (-1, tall))
        ]
        back = [self._pixel(x + side * half_width, depth + deep, tall) for side in (1, -1)]
        front, top = np.int32(corners), np.int32([corners[3], corners[2], back[0], back[1]])
        colour = np.asarray(colour)
        cv2.fillConvexPoly(self._picture, top, tuple(map(float, np.clip(colour * 1.25, 0, 245))), cv2.LINE_AA)
        cv2.fillConvexPoly(self._picture, front, tuple(map(float, colour)), cv2.LINE_AA)
        for polygon in (front, top):
            cv2.fillConvexPoly(mask, polygon, 255)
        grain = 1 + 0.02 * rng.standard_normal(self._shape).astype(np.float32)
        self._picture[mask > 0] *= grain[mask > 0][:, None]
        self._stamp(depth, mask)
        self._obstacles.append((x, depth + deep / 2, float(np.hypot(half_width, deep / 2))))
        return front

    def _box(self, x, depth):
        """A kiosk or a counter with goods."""
        rng = self._rng
        tall, half = rng.uniform(0.9, 2.4), rng.uniform(0.5, 1.3)
        front = self._solid(x, depth, half, rng.uniform(0.8, 2.0), tall, _paint(rng))
        (left, _), (right, _) = front[0], front[1]
        top, low = int(front[2][1]), int(front[0][1])
        for _ in range(int(rng.integers(2, 14))):
            cx, cy = rng.uniform(left, right), rng.uniform(top, top + 0.6 * (low - top))
            w, h = rng.uniform(0.04, 0.25) * (right - left), rng.uniform(0.05, 0.25) * (low - top)
            a = (int(np.clip(cx, left, right)), int(np.clip(cy, top, low)))
            b = (int(np.clip(cx + w, left, right)), int(np.clip(cy + h, top, low)))
            cv2.rectangle(self._picture, a, b, _paint(rng), -1)

    def _bench(self, x, depth):
        self._solid(x, depth, 0.9, 0.45, 0.45, self._rng.uniform(40, 150) * self._rng.uniform(0.7, 1.1, 3))
        facing = self._rng.normal(0, 0.2)
        self._seats += [(x + offset, depth - 0.12, facing) for offset in (-0.55, 0.0, 0.55)]

    def _bin(self, x, depth):
        self._solid(x, depth, 0.22, 0.4, self._rng.uniform(0.7, 1.1), self._rng.uniform(20, 130) * np.ones(3))

    def _board(self, x, depth):
        rng = self._rng
        lift = rng.choice([0.0, rng.uniform(1.0, 2.2)])
        half, tall = rng.uniform(0.3, 0.9), rng.uniform(0.5, 1.6)
        mask = np.zeros(self._shape, np.uint8)
        a, b = self._pixel(x - half, depth, lift + tall), self._pixel(x + half, depth, lift)
        cv2.rectangle(self._picture, a, b, _paint(rng), -1)
        cv2.rectangle(mask, a, b, 255, -1)
        for row in np.linspace(a[1], b[1], 5)[1:-1]:
            if rng.random() < 0.7:
                cv2.line(
                    self._picture,
                    (a[0] + 3, int(row)),
                    (int(rng.uniform(a[0] + 3, b[0])), int(row)),
                    _paint(rng),
                    max(1, (b[1] - a[1]) // 14),
                )
        if lift:
            foot, top = self._pixel(x, depth), self._pixel(x, depth, lift)
            thick = max(1, round(0.08 * float(self._ground.pixels_per_metre(self._ground.row_of(depth)))))
            for image, colour in ((self._picture, (90.0, 95.0, 95.0)), (mask, 255)):
                cv2.line(image, foot, top, colour, thick)
        self._stamp(depth, mask)
        self._obstacles.append((x, depth, 0.4))

    def _pole(self, x, depth):
        rng = self._rng
        mask = np.zeros(self._shape, np.uint8)
        thick = max(
            1,
            round(rng.uniform(0.09, 0.3) * float(self._ground.pixels_per_metre(self._ground.row_of(depth)))),
        )
        value = float(rng.uniform(30, 200))
        foot, top = self._pixel(x, depth), self._pixel(x, depth, rng.uniform(3, 8))
        cv2.line(self._picture, foot, top, (value, value, value), thick, cv2.LINE_AA)
        cv2.line(
            self._picture, foot, top, (value * 1.2, value * 1.2, value * 1.2), max(1, thick // 3), cv2.LINE_AA
        )
        cv2.line(mask, foot, top, 255, thick)
        self._stamp(depth, mask)
        self._obstacles.append((x, depth, 0.15))

    def _plant(self, x, depth):
        """A tree or a tub with a bush; returns its box (columns, rows) and depth, to make it sway."""
        rng = self._rng
        scale = float(self._ground.pixels_per_metre(self._ground.row_of(depth)))
        tree = self._spec.setting != "street" and rng.random() < 0.5
        trunk, radius = (
            (rng.uniform(1.5, 2.6), rng.uniform(0.8, 1.6)) if tree else (0.5, rng.uniform(0.4, 0.9))
        )
        if tree:
            mask = np.zeros(self._shape, np.uint8)
            for image, colour in ((self._picture, (45.0, 60.0, 75.0)), (mask, 255)):
                cv2.line(
                    image,
                    self._pixel(x, depth),
                    self._pixel(x, depth, trunk),
                    colour,
                    max(2, round(0.2 * scale)),
                )
            self._stamp(depth, mask)
            self._obstacles.append((x, depth, 0.3))
        else:
            self._solid(x, depth, 0.45, 0.6, 0.5, rng.uniform(50, 150) * np.ones(3))
        centre = np.array(self._pixel(x, depth, trunk + radius * 0.8))
        crown = np.zeros(self._shape, np.uint8)
        hue = rng.uniform(60, 110) * np.float32([rng.uniform(0.4, 0.7), 1, rng.uniform(0.6, 1.0)])
        leaves = int(900 * radius)
        spread = np.array([radius * scale, radius * scale * rng.uniform(0.8, 1.2)])
        for _ in range(leaves):
            offset = rng.normal(0, 0.40, 2)
            at = tuple(int(v) for v in centre + offset * spread)
            size = (
                max(1, int(rng.uniform(0.03, 0.09) * scale)),
                max(1, int(rng.uniform(0.015, 0.04) * scale)),
            )
            tone = hue * rng.uniform(0.45, 1.5) * (1 - 0.25 * offset[1])
            angle = rng.uniform(0, 180)
            cv2.ellipse(self._picture, at, size, angle, 0, 360, tuple(map(float, np.clip(tone, 3, 240))), -1)
            cv2.ellipse(crown, at, size, angle, 0, 360, 255, -1)
        self._stamp(depth, crown)
        columns, rows = np.flatnonzero(crown.any(0)), np.flatnonzero(crown.any(1))
        if not len(rows):
            return None
        pad = 6
        return (max(0, columns[0] - pad), columns[-1] + pad, max(0, rows[0] - pad), rows[-1] + pad, scale)

    def _sway(self, picture, left, right, top, low, scale) -> Plant:
        """States of a plant between its leaves' extreme positions: the box warped by a smooth field."""
        rng = self._rng
        box = np.s_[top : low + 1, left : right + 1]
        patch, depth = picture[box].astype(np.uint8), self._depth[box]
        height, width = depth.shape
        rows, columns = np.mgrid[:height, :width].astype(np.float32)
        window = np.sqrt(np.outer(np.hanning(height), np.hanning(width))).astype(np.float32)
        reach = self._spec.plant_sway * 0.05 * scale
        fields = [
            _noise(rng, (height, width), max(3.0, 0.25 * scale)) * window * np.float32(reach)
            for _ in range(4)
        ]
        pictures, depths = [], []
        for state in range(_PLANT_STATES):
            angle = 2 * np.pi * state / _PLANT_STATES
            turn, lift = np.float32(np.cos(angle)), np.float32(np.sin(angle))
            u = columns + fields[0] * turn + fields[1] * lift
            v = rows + (fields[2] * turn + fields[3] * lift) / 2
            pictures.append(cv2.remap(patch, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT))
            depths.append(cv2.remap(depth, u, v, cv2.INTER_NEAREST, borderMode=cv2.BORDER_REFLECT))
        return Plant(
            (int(top), int(left)), tuple(pictures), tuple(depths), rng.uniform(0.2, 0.6), rng.random()
        )

    # ------------------------------------------------------------------------------------------- the light

    def _light(self) -> np.ndarray:
        """How brightly each place is lit, around 1: an even fall-off, pools of lamps, shade of buildings."""
        rng = self._rng
        height, width = self._shape
        slope = rng.normal(0, 0.08, 2)
        light = 1 + slope[0] * (self._columns / width - 0.5) * 2 + slope[1] * (self._rows / height - 0.5) * 2
        light = light + 0.06 * _noise(rng, self._shape, width / 5)
        if self._spec.cast_shadow > 0 and rng.random() < 0.5:  # the shade of a building outside the image
            angle = rng.uniform(0, 2 * np.pi)
            way = (self._columns / width - 0.5) * np.cos(angle) + (self._rows / height - 0.5) * np.sin(angle)
            shade = np.clip((way - rng.uniform(-0.1, 0.4)) * width / 4, 0, 1)
            light = light * (1 - shade * self._spec.cast_shadow * 0.9)
        return np.clip(light, 0.35, 1.6).astype(np.float32)
