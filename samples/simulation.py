"""Synthetic surveillance footage with exact labels.

>>> from samples.scenes import preset
>>> frame = next(Simulation(preset("plaza", seed=1, people=8.0)).frames())
>>> frame.count == len(frame.heads_xy) == len(frame.boxes_xywh)
True
"""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from .geometry import Ground
from .motion import Floor, Placement, Population, Track
from .people import (
    GAIT_PHASES,
    Person,
    Sprite,
    draw_person,
    random_person,
    sitting_pose,
    standing_pose,
    walking_pose,
)
from .scenery import MARGIN, Scenery, build_scenery
from .scenes import SceneSpec
from .vehicles import Drawn, traffic

VISIBLE_SHARE = 0.05
"""A person of whom less than this share of the silhouette can be seen is not counted."""

_SCALE_STEP = 1.16  # sprites are drawn at these steps of scale and shrunk to the exact one
_YAW_STEP = np.pi / 12
_DEPRESSION_STEP = 0.1
# Radians: seen from farther above, a person's outline tells no more of the stature that the shadow goes with.
_STEEPEST_OUTLINE = np.pi / 3
_NOISE_FIELDS = 3


@dataclass(frozen=True, eq=False)
class SimulatedFrame:
    """One frame and its labels, in pixels of the image.

    A person counts when the head's centre lies inside the region of interest and at least ``VISIBLE_SHARE``
    of the silhouette can be seen, neither hidden by people or objects nor outside the image. The k counted
    people are listed in order of their ids; everyone who can be seen, counted or not, is in the label map.
    Coordinates are 0-based: (0, 0) is the middle of the first pixel.

    Attributes
    ----------
    image_bgr : (H, W, 3) uint8
    count : int, k
    person_ids : (k,) int16, from 1 on; a person keeps the id throughout the clip
    heads_xy : (k, 2) float32, centre of the head
    boxes_xywh : (k, 4) float32, left, top, width, height of the full silhouette with bags, however much of it
        is hidden, not clipped to the image
    visible_share : (k,) float32, 0..1, visible part of the full silhouette's area
    walking : (k,) bool, False for those who stand or sit
    label_map : (H, W) int16, the id of the front-most person at each pixel, 0 where there is none
    """

    image_bgr: np.ndarray
    person_ids: np.ndarray
    heads_xy: np.ndarray
    boxes_xywh: np.ndarray
    visible_share: np.ndarray
    walking: np.ndarray
    label_map: np.ndarray

    @property
    def count(self) -> int:
        return len(self.person_ids)

    @property
    def visible_mask(self) -> np.ndarray:
        """(H, W) bool: where any person can be seen."""
        return self.label_map > 0


class Simulation:
    """A scene and everyone who will pass through it; its frames can be drawn any number of times, bit-equal.

    Attributes
    ----------
    spec : SceneSpec
    roi_polygons : list of (n, 2) lists, the region of interest in pixels (x, y)
    height_line : (slope, intercept) of the height in pixels of a person of 1.70 m over the foot row
    ground : Ground, the level floor with this perspective
    """

    def __init__(self, spec: SceneSpec):
        self.spec = spec
        self.height_line = (spec.height_slope, spec.height_intercept)
        self.ground = Ground(spec.size_wh, *self.height_line, spec.depression_deg, spec.far_row)
        self._scenery = build_scenery(spec, self.ground, self._rng(1))
        self._tracks = self._population(self._scenery).tracks()
        self._traffic = traffic(self.ground, self._rng(7), spec.vehicles, spec.n_frames / spec.fps)
        self.roi_polygons = [self._roi()]
        self._roi_mask = np.zeros(spec.size_wh[::-1], np.uint8)
        for polygon in self.roi_polygons:
            cv2.fillPoly(self._roi_mask, [np.int32(np.round(polygon))], 1)
        self._noise_fields = self._noise()
        self._metered = float(np.clip(105 / self._scenery.picture.mean(), 0.6, 2.5))

    def frames(self) -> Iterator[SimulatedFrame]:
        """Draw the clip's frames in order."""
        drift = self._drift()
        shots = self._rng(5)
        cast = _Cast(self.spec, self._scenery.picture)
        for index in range(self.spec.n_frames):
            time_s = index / self.spec.fps
            yield self._frame(index, time_s, cast, drift[index], shots)

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.spec.seed, purpose])

    def _population(self, scenery: Scenery) -> Population:
        spec, ground = self.spec, self.ground
        near = float(ground.depth_of(spec.near_row)) if spec.near_row is not None else ground.near_depth
        near_row = float(ground.row_of(near))
        walls = [wall for wall in spec.side_walls if wall is not None]

        def half_width(depth):
            return min([float(ground.half_width(depth)), *(wall - 1.5 for wall in walls)])

        def in_view(xs, depths):
            columns, rows = ground.to_pixels(xs, depths, 1.6)
            width, height = spec.size_wh
            hidden = depths > ground.far_depth
            return (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height) & ~hidden

        floor = Floor(
            near,
            ground.far_depth,
            half_width,
            in_view,
            open_sides=not walls,
            open_near=near_row - float(ground.height_at(near_row)) > spec.size_wh[1],
            doors=scenery.doors,
            obstacles=scenery.obstacles,
            seats=scenery.seats,
        )
        return Population(
            floor,
            self._rng(2),
            people=spec.people,
            duration=spec.n_frames / spec.fps,
            standing_share=spec.standing_share,
            sitting_share=spec.sitting_share,
            group_share=spec.group_share,
            child_share=spec.child_share,
            lateral_share=spec.lateral_share,
            speed=spec.speed,
            variation=spec.variation,
        )

    def _roi(self) -> list:
        width, height = self.spec.size_wh
        top = 0.0
        if self.spec.roi == "floor":
            top = max(0.0, self.spec.far_row - 1.15 * float(self.ground.height_at(self.spec.far_row)))
        right, bottom = width - 1.0, height - 1.0
        return [[0.0, top], [right, top], [right, bottom], [0.0, bottom]]

    # ------------------------------------------------------------------------------------------- the camera

    def _noise(self) -> list[np.ndarray]:
        """Fields of sensor noise around 128, larger than the image: each frame shows another part of one."""
        rng, (width, height) = self._rng(3), self.spec.size_wh
        fields = []
        grain = rng.uniform(0, 0.7)
        for _ in range(_NOISE_FIELDS if self.spec.noise > 0 else 0):
            shape = (height + 64, width + 64, 1)
            luma = rng.standard_normal(shape, np.float32)
            field = luma + 0.35 * rng.standard_normal((*shape[:2], 3), np.float32)
            if grain > 0.3:
                field = cv2.GaussianBlur(field, (0, 0), grain)
            field *= self.spec.noise / field.std()
            fields.append(np.clip(np.rint(field + 128), 0, 255).astype(np.uint8))
        return fields

    def _drift(self) -> np.ndarray:
        """The light's gain in each frame."""
        rng, spec = self._rng(4), self.spec
        time_s = np.arange(spec.n_frames) / spec.fps
        gain = np.ones(spec.n_frames)
        for period in (17.0, 61.0, 240.0):
            gain += spec.light_drift / 2 * np.sin(2 * np.pi * (time_s / period + rng.random()))
        gain *= 1 + spec.flicker * rng.standard_normal(spec.n_frames)
        if spec.light_switch_frame is not None:
            gain[spec.light_switch_frame :] *= spec.light_switch_gain
        return gain

    def _view(self, index: int) -> np.ndarray:
        """How far the image's content lies from its place (x right, y down, pixels)."""
        spec = self.spec
        shift = np.zeros(2)
        if spec.bump_frame is not None and index >= spec.bump_frame:
            shift += spec.bump_shift
        if spec.shake:
            time_s = index / spec.fps
            phase = spec.seed % 7
            shift += spec.shake * np.array([np.sin(2.3 * time_s + phase), np.cos(3.1 * time_s + phase)])
        return np.clip(shift, -30, 30)

    def _expose(self, image: np.ndarray, gain: float, shots: np.random.Generator) -> np.ndarray:
        """Optics, exposure, noise and compression of one frame."""
        spec = self.spec
        levels = np.arange(256) / 255.0
        levels = np.clip(levels * self._metered * spec.exposure * gain, 0, None)
        levels = 0.45 + (levels - 0.45) * spec.contrast
        blue, red = spec.white_balance
        curves = np.stack([levels * blue, levels, levels * red], 1) * 255
        image = cv2.LUT(image, np.clip(curves, 0, 255).astype(np.uint8).reshape(256, 1, 3))
        if spec.saturation != 1:
            grey = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
            image = cv2.addWeighted(image, spec.saturation, grey, 1 - spec.saturation, 0)
        if spec.blur > 0:
            image = cv2.GaussianBlur(image, (0, 0), spec.blur)
        if self._noise_fields:
            field = self._noise_fields[shots.integers(len(self._noise_fields))]
            top, left = shots.integers(0, 64, 2)
            part = field[top : top + image.shape[0], left : left + image.shape[1]]
            image = cv2.addWeighted(image, 1, part, 1, -128)
        if spec.sharpening > 0:
            soft = cv2.GaussianBlur(image, (0, 0), 1.2)
            image = cv2.addWeighted(image, 1 + spec.sharpening, soft, -spec.sharpening, 0)
        encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, spec.jpeg_quality])[1]
        return cv2.imdecode(encoded, cv2.IMREAD_COLOR)

    # -------------------------------------------------------------------------------------------- the frame

    def _frame(self, index: int, time_s: float, cast: "_Cast", gain: float, shots) -> SimulatedFrame:
        canvas = _Canvas(self.spec, self.ground, self._scenery, time_s)
        here = []
        for number, track in enumerate(self._tracks, start=1):
            if track.start <= time_s < track.end:
                person = cast.person(number, track)
                here.append((number, person, track.at(time_s, person.stature)))
        cast.forget_all_but({number for number, _, _ in here})
        here += [
            (0, None, drawn)
            for vehicle in self._traffic
            if (drawn := vehicle.drawn(time_s, self.ground, self.spec.sun)) is not None
        ]
        here.sort(key=lambda entry: -entry[2].depth)
        figures = [
            canvas.draw(number, place, cast, person) if number else canvas.drive(place)
            for number, person, place in here
        ]
        shift = self._view(index)
        image, label_map = canvas.crop(shift)
        image = self._expose(image, gain, shots)
        return self._label(image, label_map, [f for f in figures if f is not None], shift)

    def _label(self, image, label_map, figures: list, shift) -> SimulatedFrame:
        width, height = self.spec.size_wh
        seen = np.bincount(label_map[label_map > 0], minlength=len(self._tracks) + 1)
        rows = []
        for number, box, head, area, walking in sorted(figures):
            head = np.asarray(head) + shift
            x, y = np.rint(head).astype(int)
            inside = 0 <= x < width and 0 <= y < height and self._roi_mask[y, x]
            if inside and seen[number] >= VISIBLE_SHARE * area:
                rows.append(
                    (number, (*(np.asarray(box[:2]) + shift), *box[2:]), head, seen[number] / area, walking)
                )
        ids, boxes, heads, shares, walking = zip(*rows, strict=True) if rows else ((),) * 5
        return SimulatedFrame(
            image,
            np.array(ids, np.int16),
            np.array(heads, np.float32).reshape(-1, 2),
            np.array(boxes, np.float32).reshape(-1, 4),
            np.array(shares, np.float32),
            np.array(walking, bool),
            label_map,
        )


class _Cast:
    """Who plays whom, and their sprites: each is drawn once per posture, side and step of scale."""

    def __init__(self, spec: SceneSpec, picture: np.ndarray):
        self._spec, self._picture = spec, picture
        self._persons: dict[int, Person] = {}
        self._sprites: dict[int, dict] = {}

    def person(self, number: int, track: Track) -> Person:
        if number not in self._persons:
            rng = np.random.default_rng([self._spec.seed, 6, number])
            spec = self._spec
            background = None
            if rng.random() < spec.camouflage:
                row = rng.integers(self._picture.shape[0] // 3, self._picture.shape[0])
                background = tuple(self._picture[row, rng.integers(self._picture.shape[1])])
            self._persons[number] = random_person(
                rng, child=track.child, bags=spec.bag_share, winter=spec.winter, background=background
            )
        return self._persons[number]

    def forget_all_but(self, numbers: set):
        """Free what belongs to people who have left."""
        for store in (self._persons, self._sprites):
            for number in store.keys() - numbers:
                del store[number]

    def sprite(
        self, number: int, person: Person, placement: Placement, depression: float, scale: float
    ) -> Sprite:
        """The person's sprite at the next step of scale above the exact one."""
        phase = int(placement.phase * GAIT_PHASES)
        yaw, tilt = round(placement.yaw / _YAW_STEP), round(depression / _DEPRESSION_STEP)
        size = int(np.ceil(np.log(scale) / np.log(_SCALE_STEP)))
        key = (placement.action, phase, placement.variant, yaw, tilt, size)
        own = self._sprites.setdefault(number, {})
        if key not in own:
            if placement.action == "walk":
                pose = walking_pose((phase + 0.5) / GAIT_PHASES, person.gait_swing)
            elif placement.action == "sit":
                pose = sitting_pose(person.stance, placement.variant)
            else:
                pose = standing_pose(person.stance, placement.variant)
            if len(own) > 3 * GAIT_PHASES:
                own.clear()
            own[key] = draw_person(
                person,
                pose,
                yaw * _YAW_STEP,
                tilt * _DEPRESSION_STEP,
                _SCALE_STEP**size,
                light=0.6 if self._spec.sun[0] < 0 else -0.6,
            )
        return own[key]


class _Canvas:
    """The picture and the label map of one moment, with MARGIN pixels around the image."""

    def __init__(self, spec: SceneSpec, ground: Ground, scenery: Scenery, time_s: float):
        self._spec, self._ground, self._light = spec, ground, scenery.light
        self._picture, self._depth = scenery.picture.copy(), scenery.depth
        if scenery.plants:
            self._depth = self._depth.copy()
        for plant in scenery.plants:
            state = int((plant.offset + plant.rate * time_s) * len(plant.pictures)) % len(plant.pictures)
            top, left = plant.corner
            height, width = plant.depths[state].shape
            self._picture[top : top + height, left : left + width] = plant.pictures[state]
            self._depth[top : top + height, left : left + width] = plant.depths[state]
        self._labels = np.zeros(self._depth.shape, np.int16)

    def draw(self, number: int, placement: Placement, cast: _Cast, person: Person):
        """Draw one person, shadow and reflection first.

        Returns (id, box, head, area of the silhouette, whether walking) in image pixels, or None for a person
        whose surroundings lie outside the picture.
        """
        column, row = (float(v) for v in self._ground.to_pixels(placement.x, placement.depth))
        scale = float(self._ground.pixels_per_metre(row))
        if not (-3 * scale < column < self._spec.size_wh[0] + 3 * scale):
            return None
        depression = float(self._ground.depression_at(row))
        sprite = cast.sprite(number, person, placement, depression, scale)
        factor = scale / sprite.pixels_per_metre
        foot = np.array([column + MARGIN, row + MARGIN])
        light = self._light_at(foot)
        seen = min(depression, _STEEPEST_OUTLINE)
        outline = sprite if seen == depression else cast.sprite(number, person, placement, seen, scale)
        self._shadow(outline, factor, foot, placement.depth, depression, seen)
        if self._spec.reflection > 0:
            self._reflection(sprite, factor, foot, light)
        corner = np.floor(foot - factor * np.array(sprite.ground_xy)).astype(int)
        within = foot - corner
        size = np.ceil(np.array(sprite.image.shape[1::-1]) * factor).astype(int) + 2
        place = np.float32(
            [
                [factor, 0, within[0] - factor * sprite.ground_xy[0]],
                [0, factor, within[1] - factor * sprite.ground_xy[1]],
            ]
        )
        patch = cv2.warpAffine(sprite.image, place, tuple(int(v) for v in size), flags=cv2.INTER_LINEAR)
        solid = patch[..., 3] > 127
        x, y, width, height = cv2.boundingRect(solid.view(np.uint8))
        self._paste(patch, corner, light, placement.depth, number)
        head = foot + factor * (np.array(sprite.head_xy) - sprite.ground_xy) - MARGIN
        box = (x + corner[0] - MARGIN, y + corner[1] - MARGIN, width, height)
        return number, box, tuple(head), max(1, np.count_nonzero(solid)), placement.action == "walk"

    def drive(self, drawn: Drawn) -> None:
        """Draw a vehicle, its shade first; whoever it hides cannot be seen."""
        spec = self._spec
        strength = max(spec.contact_shadow, spec.cast_shadow)
        self._darken(drawn.shade, drawn.shade_corner + MARGIN, strength, drawn.depth)
        middle = drawn.corner + MARGIN + np.array(drawn.patch.shape[1::-1]) / 2
        self._paste(drawn.patch, drawn.corner + MARGIN, self._light_at(middle), drawn.depth, 0)

    def crop(self, shift) -> tuple[np.ndarray, np.ndarray]:
        """The image and its label map when the content lies shifted by (x, y) pixels."""
        width, height = self._spec.size_wh
        whole = np.rint(MARGIN - shift).astype(int)
        box = np.s_[whole[1] : whole[1] + height, whole[0] : whole[0] + width]
        labels = np.ascontiguousarray(self._labels[box])
        if (whole == MARGIN - shift).all():
            return self._picture[box], labels
        move = np.float32([[1, 0, MARGIN - shift[0]], [0, 1, MARGIN - shift[1]]])
        moved = cv2.warpAffine(
            self._picture, move, (width, height), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        )
        return moved, labels

    def _light_at(self, foot) -> float:
        height, width = self._light.shape
        return float(self._light[int(np.clip(foot[1], 0, height - 1)), int(np.clip(foot[0], 0, width - 1))])

    def _overlap(self, corner, shape):
        """Slices of the picture and of a patch where they overlap, or None."""
        low = np.maximum(corner, 0)
        high = np.minimum(np.asarray(corner) + shape[1::-1], self._labels.shape[::-1])
        if (high <= low).any():
            return None
        inner = low - corner
        return (
            np.s_[low[1] : high[1], low[0] : high[0]],
            np.s_[inner[1] : inner[1] + high[1] - low[1], inner[0] : inner[0] + high[0] - low[0]],
        )

    def _blend(self, box, patch):
        """Lay premultiplied BGRA over the picture."""
        rest = cv2.cvtColor(255 - patch[..., 3], cv2.COLOR_GRAY2BGR)
        under = cv2.multiply(self._picture[box], rest, scale=1 / 255)
        self._picture[box] = cv2.add(under, np.ascontiguousarray(patch[..., :3]))

    def _paste(self, patch, corner, light: float, depth: float, number: int):
        overlap = self._overlap(corner, patch.shape)
        if overlap is None:
            return
        box, inner = overlap
        patch = patch[inner]
        lit = cv2.convertScaleAbs(patch, alpha=light)
        lit[..., 3] = patch[..., 3]
        lit[self._depth[box] < depth] = 0
        self._blend(box, lit)
        self._labels[box][lit[..., 3] > 127] = number

    def _darken(self, alpha, corner, strength: float, depth: float):
        """Multiply the picture by 1 - strength * alpha / 255 where nothing nearer hides it."""
        overlap = self._overlap(corner, alpha.shape)
        if overlap is None:
            return
        box, inner = overlap
        kept = cv2.convertScaleAbs(alpha[inner], alpha=-strength)
        kept = 255 - kept
        kept[self._depth[box] < depth - 3] = 255
        self._picture[box] = cv2.multiply(
            self._picture[box], cv2.cvtColor(kept, cv2.COLOR_GRAY2BGR), scale=1 / 255
        )

    def _shadow(self, sprite: Sprite, factor: float, foot, depth: float, depression: float, seen: float):
        """The dark patch where the feet meet the ground, and the shadow that the sun casts along it: the
        outline of a sprite that is `seen` under the ground's depression, or a lesser one."""
        scale = sprite.pixels_per_metre * factor
        spread = np.array([0.6, max(0.2, 0.6 * np.sin(depression))]) * scale
        size = np.maximum(2, np.ceil(2 * spread)).astype(int)
        self._darken(
            cv2.resize(_SPOT, tuple(int(v) for v in size)),
            np.floor(foot - size / 2).astype(int),
            self._spec.contact_shadow,
            depth,
        )
        strength = self._spec.cast_shadow
        if strength <= 0 or self._light_at(foot) < 0.75:
            return
        right, away = self._spec.sun
        along = factor / np.cos(seen)  # pixels of stature per sprite pixel of height
        move = np.array([[factor, -right * along], [0.0, away * np.sin(depression) * along]])
        image = sprite.image[..., 3]
        height, width = image.shape
        corners = np.array([[0, 0], [width, 0], [0, height], [width, height]], float) - sprite.ground_xy
        placed = corners @ move.T
        low, high = np.floor(placed.min(0)) - 3, np.ceil(placed.max(0)) + 3
        size = (high - low).astype(int)
        offset = -low - move @ np.array(sprite.ground_xy)
        shadow = cv2.warpAffine(
            image, np.float32(np.column_stack([move, offset])), tuple(int(v) for v in size)
        )
        shadow = cv2.GaussianBlur(shadow, (0, 0), max(0.6, 0.02 * scale))
        self._darken(shadow, np.floor(foot + low).astype(int), strength, depth)

    def _reflection(self, sprite: Sprite, factor: float, foot, light: float):
        """The person upside down below the feet, faint and fading, as a polished floor shows it."""
        height = round(sprite.ground_xy[1] * factor)
        width = round(sprite.image.shape[1] * factor)
        if height < 4 or width < 2:
            return
        upper = sprite.image[: round(sprite.ground_xy[1])]
        mirrored = cv2.resize(cv2.flip(upper, 0), (width, height), interpolation=cv2.INTER_AREA)
        mirrored = cv2.GaussianBlur(mirrored, (0, 0), max(0.8, 0.03 * width))
        fade = (self._spec.reflection * np.linspace(1, 0.15, height) * light).astype(np.float32)
        patch = np.rint(mirrored * fade[:, None, None]).astype(np.uint8)
        patch[..., 3] = np.rint(mirrored[..., 3] * (fade / light)[:, None])
        corner = np.floor([foot[0] - sprite.ground_xy[0] * factor, foot[1]]).astype(int)
        overlap = self._overlap(corner, patch.shape)
        if overlap is not None:
            patch = patch[overlap[1]].copy()
            patch[~np.isinf(self._depth[overlap[0]])] = 0
            self._blend(overlap[0], patch)


def _spot() -> np.ndarray:
    x = np.linspace(-1, 1, 33)
    return np.rint(255 * np.exp(-3.5 * (x[:, None] ** 2 + x[None] ** 2))).astype(np.uint8)


_SPOT = _spot()
