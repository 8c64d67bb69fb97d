"""Articulated, clothed people drawn as small images from any side.

A person is a skeleton of joints in metres (x to the person's left, y forward, z up, the origin on the ground
between the feet), dressed with tapered limbs and torso sections. Segment lengths are the fractions of stature
of Drillis and Contini 1966 (figure 4.1 in Winter, Biomechanics and Motor Control of Human Movement, 2009);
joint angles follow that book's sagittal curves of walking, rounded; breadths and girths are typical of
adults, with a few centimetres of clothing on top. Nothing is fitted to footage.
"""

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

GAIT_PHASES = 18
_SWATCH_SCALE = 100  # swatch pixels per metre
_SWATCH_WH = (130, 215)

# Joint angles in degrees over a walking cycle from one heel strike to the next of the same leg.
_CYCLE = np.array([0, 10, 20, 30, 40, 50, 60, 67, 75, 85, 93, 100]) / 100
_HIP_FLEXION = np.array([26, 24, 15, 6, -4, -10, -6, 5, 17, 28, 29, 26])
_KNEE_FLEXION = np.array([5, 16, 18, 11, 6, 10, 36, 56, 62, 38, 10, 5])
_FOOT_PITCH = np.array([20, 3, 0, 0, -6, -26, -62, -55, -30, 2, 16, 20])

_SKIN, _HAIR, _TOP, _INNER, _BOTTOM, _SHOES, _BAG, _CAP = range(1, 9)

_TORSO_HEIGHTS = np.array([0.478, 0.530, 0.620, 0.730, 0.800, 0.832, 0.862])
_TORSO_WIDTHS = {
    "male": np.array([0.088, 0.098, 0.090, 0.102, 0.112, 0.092, 0.042]),
    "female": np.array([0.092, 0.103, 0.082, 0.094, 0.102, 0.082, 0.038]),
}
_TORSO_DEPTHS = np.array([0.064, 0.072, 0.066, 0.074, 0.066, 0.050, 0.040])


@dataclass(frozen=True, eq=False)
class Outfit:
    """What a person wears: colours are BGR; eases are metres of cloth on each side of the body."""

    top: np.ndarray  # (215, 130, 3) uint8 swatch of the upper garment, 100 pixels per metre
    bottom: np.ndarray  # (215, 130, 3) uint8 swatch of the lower garment
    skin: tuple
    hair: tuple
    inner: tuple
    shoes: tuple
    bag_colour: tuple
    cap_colour: tuple
    top_ease: float
    leg_ease: float
    hem_ease: float  # extra half-width of the trouser legs at the ankle
    top_end: float  # where the upper garment ends, as a fraction of stature (0.5 hip, 0.28 knee-long coat)
    skirt_end: float  # where a skirt ends, as a fraction of stature; 0 for trousers
    sleeves: float  # covered part of the arm, 0..1
    legs_covered: float  # covered part of the leg, 0..1
    open_front: bool
    long_hair: bool
    hood: bool
    cap: bool
    bag: str  # "none", "backpack", "shoulder", "carried"


@dataclass(frozen=True, eq=False)
class Person:
    """One member of the population; stature in metres, girth a factor on all breadths."""

    stature: float
    girth: float
    sex: str
    outfit: Outfit
    gait_swing: float  # factor on the limbs' swing
    stance: int  # seed of the postures taken while standing


@dataclass(frozen=True, eq=False)
class Sprite:
    """A drawn person: premultiplied BGRA, the ground point's place in it, its scale and the head's centre."""

    image: np.ndarray  # (h, w, 4) uint8
    ground_xy: tuple[float, float]
    head_xy: tuple[float, float]
    pixels_per_metre: float


# ---------------------------------------------------------------------------------------------- population


def _hsv(hue, saturation, value) -> tuple:
    pixel = np.uint8([[[np.clip(hue, 0, 179), np.clip(saturation, 0, 255), np.clip(value, 4, 250)]]])
    return tuple(int(c) for c in cv2.cvtColor(pixel, cv2.COLOR_HSV2BGR)[0, 0])


def _garment_colour(rng: np.random.Generator, *, leg: bool) -> tuple:
    kind = rng.random()
    if leg:
        if kind < 0.40:  # jeans, from washed-out to raw denim
            return _hsv(rng.normal(108, 4), rng.uniform(60, 170), rng.uniform(45, 160))
        if kind < 0.80:  # black, charcoal, navy
            return _hsv(rng.uniform(90, 130), rng.uniform(5, 70), rng.uniform(14, 60))
        if kind < 0.94:  # beige, brown, olive, grey
            return _hsv(rng.uniform(8, 30), rng.uniform(10, 110), rng.uniform(70, 175))
        return _hsv(rng.uniform(0, 180), rng.uniform(0, 40), rng.uniform(170, 235))
    if kind < 0.50:
        return _hsv(rng.uniform(90, 140), rng.uniform(5, 80), rng.uniform(12, 58))
    if kind < 0.68:
        return _hsv(rng.uniform(5, 35), rng.uniform(10, 110), rng.uniform(60, 170))
    if kind < 0.86:
        return _hsv(rng.uniform(0, 180), rng.uniform(90, 220), rng.uniform(60, 200))
    return _hsv(rng.uniform(0, 180), rng.uniform(0, 45), rng.uniform(165, 240))


def _folds(rng: np.random.Generator, *, leg: bool) -> np.ndarray:
    """Multiplicative shading of cloth, (215, 130) float32 around 1."""
    width, height = _SWATCH_WH
    noise = rng.standard_normal((height, width)).astype(np.float32)
    long = cv2.GaussianBlur(noise, (0, 0), sigmaX=3 if leg else 5, sigmaY=14 if leg else 8)
    shear = np.float32([[1, rng.uniform(-1.2, 1.2), 0], [0, 1, 0]])
    diagonal = cv2.warpAffine(
        cv2.GaussianBlur(rng.standard_normal((height, width)).astype(np.float32), (0, 0), 9, sigmaY=2.2),
        shear if not leg else np.float32([[1, 0, 0], [rng.uniform(-0.5, 0.5), 1, 0]]),
        (width, height),
        borderMode=cv2.BORDER_WRAP,
    )
    grain = cv2.GaussianBlur(rng.standard_normal((height, width)).astype(np.float32), (0, 0), 0.8)
    field = long / long.std() * 0.06 + diagonal / diagonal.std() * 0.08 + grain / grain.std() * 0.025
    return 1 + field * rng.uniform(0.5, 1.5)


def _swatch(rng: np.random.Generator, colour: tuple, *, leg: bool) -> np.ndarray:
    """A garment's cloth: its colour, pattern and folds, (215, 130, 3) uint8."""
    width, height = _SWATCH_WH
    cloth = np.full((height, width, 3), colour, np.float32)
    second = np.float32(colour) + (np.float32(_garment_colour(rng, leg=leg)) - colour) * rng.uniform(0.4, 1.0)
    rows, columns = np.mgrid[:height, :width]
    pattern = rng.random() * (3 if leg else 1)
    if pattern < 0.06:  # stripes across
        cloth[(rows // int(rng.integers(3, 9))) % 2 == 0] = second
    elif pattern < 0.11:  # checks
        pitch = int(rng.integers(4, 10))
        cloth[((rows // pitch) % 2 == 0) ^ ((columns // pitch) % 2 == 0)] = second
    elif pattern < 0.20:  # print on the chest or yoke in a second colour
        level = height * (1 - rng.uniform(1.2, 1.45) / 2.15)
        band = np.abs(rows - level) < rng.uniform(6, 22)
        cloth[band & (np.abs(columns - width / 2) < rng.choice([8, 14, 99]))] = second
    elif pattern < 0.25:  # small print
        blobs = cv2.GaussianBlur(rng.standard_normal((height, width)).astype(np.float32), (0, 0), 2.0)
        cloth[blobs > 1.1 * blobs.std()] = second
    cloth = cloth * _folds(rng, leg=leg)[..., None] + rng.normal(0, 1.5, (height, width, 1))
    return np.clip(cloth, 2, 252).astype(np.uint8)


def random_person(
    rng: np.random.Generator,
    *,
    child: bool = False,
    bags: float = 0.4,
    winter: float = 0.5,
    background: tuple | None = None,
) -> Person:
    """Draw a person: build, clothes and bag.

    bags is the probability of a bag, winter (0..1) the share of coats and long sleeves, and background, if
    given, a BGR colour of the scene that the clothes then come close to.
    """
    sex = "male" if rng.random() < 0.5 else "female"
    if child:
        stature = rng.uniform(1.05, 1.5)
    else:
        stature = float(np.clip(rng.normal(1.76 if sex == "male" else 1.63, 0.065), 1.48, 1.98))
    girth = float(np.clip(np.exp(rng.normal(0, 0.09)), 0.84, 1.32)) * (1.08 if child else 1.0)
    warm = rng.random() < winter
    top_colour, leg_colour = _garment_colour(rng, leg=False), _garment_colour(rng, leg=True)
    if background is not None:
        near = np.float32(background)
        top_colour = tuple(np.clip(near + rng.normal(0, 14, 3) + rng.normal(0, 10), 5, 245))
        if rng.random() < 0.5:
            leg_colour = tuple(np.clip(near + rng.normal(0, 14, 3) + rng.normal(0, 12), 5, 245))
    tone = rng.beta(1.6, 3.0)
    skin = np.float32([150, 178, 225]) * (1 - tone) + np.float32([35, 52, 85]) * tone
    hair = [(18, 18, 20), (22, 30, 45), (40, 62, 88), (95, 140, 175), (150, 152, 155), (28, 45, 110)][
        int(rng.choice(6, p=[0.36, 0.26, 0.14, 0.09, 0.10, 0.05]))
    ]
    coat = warm and rng.random() < 0.28
    skirt = sex == "female" and rng.random() < 0.18
    summer_legs = not warm and rng.random() < 0.3
    bag = "none"
    if rng.random() < bags:
        bag = str(rng.choice(["backpack", "shoulder", "carried"], p=[0.32, 0.43, 0.25]))
    outfit = Outfit(
        top=_swatch(rng, top_colour, leg=False),
        bottom=_swatch(rng, leg_colour, leg=True),
        skin=tuple(skin),
        hair=hair,
        inner=_garment_colour(rng, leg=False),
        shoes=(
            _hsv(rng.uniform(5, 25), rng.uniform(0, 120), rng.uniform(15, 70))
            if rng.random() < 0.7
            else _hsv(rng.uniform(0, 180), rng.uniform(0, 60), rng.uniform(130, 230))
        ),
        bag_colour=_garment_colour(rng, leg=False),
        cap_colour=_garment_colour(rng, leg=False),
        top_ease=rng.uniform(0.025, 0.055) if warm else rng.uniform(0.008, 0.025),
        leg_ease=rng.uniform(0.008, 0.03),
        hem_ease=rng.uniform(0.0, 0.03),
        top_end=rng.uniform(0.28, 0.42) if coat else rng.uniform(0.455, 0.54),
        skirt_end=rng.uniform(0.12, 0.36) if skirt else 0.0,
        sleeves=1.0 if warm or rng.random() < 0.4 else rng.uniform(0.25, 0.5),
        legs_covered=rng.uniform(0.3, 0.6) if summer_legs else 1.0,
        open_front=bool(rng.random() < 0.35),
        long_hair=bool(sex == "female" and rng.random() < 0.65),
        hood=bool(warm and rng.random() < 0.3),
        cap=bool(rng.random() < 0.1),
        bag=bag,
    )
    return Person(stature, girth, sex, outfit, rng.uniform(0.85, 1.15), int(rng.integers(2**31)))


# ------------------------------------------------------------------------------------------------- postures


def walking_pose(phase: float, swing: float = 1.0) -> dict:
    """Joint angles (radians) at phase 0..1 of the walking cycle, by limb side."""
    pose = {"lean": np.radians(3.0)}
    for side, lag in (("left", 0.0), ("right", 0.5)):
        at = (phase + lag) % 1.0
        forward = np.cos(2 * np.pi * at)
        pose[side] = {
            "hip": np.radians(np.interp(at, _CYCLE, _HIP_FLEXION)) * swing,
            "knee": np.radians(np.interp(at, _CYCLE, _KNEE_FLEXION)) * swing,
            "foot": np.radians(np.interp(at, _CYCLE, _FOOT_PITCH)) * swing,
            "shoulder": np.radians(-19 * forward + 3) * swing,
            "elbow": np.radians(22 - 12 * forward),
            "spread": np.radians(6.0),
            "inward": np.radians(2.0),
            "stance": 0.045,
        }
    return pose


def standing_pose(stance: int, variant: int) -> dict:
    """A relaxed standing posture; the same numbers give the same posture."""
    rng = np.random.default_rng([stance, variant])
    arms = rng.choice(["hang", "phone", "folded", "pockets", "talk"], p=[0.34, 0.2, 0.16, 0.2, 0.1])
    relaxed = rng.integers(2)
    feet = rng.uniform(0.05, 0.09)
    pose = {"lean": np.radians(rng.normal(1.5, 2.0))}
    for index, side in enumerate(("left", "right")):
        bend = np.radians(rng.uniform(4, 16)) if index == relaxed else 0.0
        shoulder, elbow, inward = rng.uniform(-4, 6), rng.uniform(6, 22), 2.0
        if arms == "folded":
            shoulder, elbow, inward = 18, 100, 62
        elif arms == "pockets":
            shoulder, elbow, inward = -12, 45, 12
        elif arms == "phone" and index == relaxed:
            shoulder, elbow, inward = 20, 115, 18
        elif arms == "talk" and index == relaxed:
            shoulder, elbow, inward = 25, 80, -8
        pose[side] = {
            "hip": bend,
            "knee": 2 * bend,
            "foot": 0.0,
            "shoulder": np.radians(shoulder),
            "elbow": np.radians(elbow),
            "spread": np.radians(rng.uniform(5, 13)),
            "inward": np.radians(inward),
            "stance": feet,
        }
    return pose


def sitting_pose(stance: int, variant: int) -> dict:
    """Sitting on a bench."""
    rng = np.random.default_rng([stance, variant, 1])
    pose = {"lean": np.radians(rng.normal(2, 7))}
    for side in ("left", "right"):
        pose[side] = {
            "hip": np.radians(84),
            "knee": np.radians(rng.uniform(78, 95)),
            "foot": 0.0,
            "shoulder": np.radians(rng.uniform(10, 35)),
            "elbow": np.radians(rng.uniform(40, 80)),
            "spread": np.radians(8),
            "inward": np.radians(15),
            "stance": rng.uniform(0.05, 0.11),
        }
    return pose


# -------------------------------------------------------------------------------------------------- drawing


def _joints(person: Person, pose: dict) -> dict:
    """Joint positions in metres: (x left, y forward, z up), the lowest sole on the ground."""
    stature = person.stature
    head = (1.75 / stature) ** 0.65  # the head grows less than the body: a child's is large
    trunk = (1 - 0.148 * head) / (1 - 0.148)
    length = stature * trunk
    lean = pose["lean"]
    joints = {"head_scale": head * stature, "length": length}
    lowest = []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        limb = pose[side]
        hip = np.array([sign * 0.050 * length, 0.0, 0.0])
        thigh = limb["hip"]
        outward = np.array([sign * (limb["stance"] - 0.05) * length, 0, 0])
        knee = hip + 0.245 * length * np.array([0, np.sin(thigh), -np.cos(thigh)]) + 0.5 * outward
        shank = thigh - limb["knee"]
        ankle = knee + 0.246 * length * np.array([0, np.sin(shank), -np.cos(shank)]) + 0.5 * outward
        pitch = limb["foot"]
        turned = np.array([sign * 0.25, np.cos(pitch), np.sin(pitch)])
        down = np.array([0, np.sin(pitch), -np.cos(pitch)])
        heel = ankle + stature * (0.034 * down - 0.030 * turned)
        toe = ankle + stature * (0.034 * down + 0.110 * turned)
        joints |= {
            f"hip_{side}": hip,
            f"knee_{side}": knee,
            f"ankle_{side}": ankle,
            f"heel_{side}": heel,
            f"toe_{side}": toe,
        }
        lowest += [heel[2], toe[2]]
        shoulder_z = (0.788 - 0.530) * length
        shoulder = np.array([sign * 0.113 * length * person.girth**0.5, 0.0, shoulder_z])
        shoulder[1] = np.sin(lean) * shoulder_z
        arm, spread = limb["shoulder"], limb["spread"]
        upper = np.array([sign * np.sin(spread), np.sin(arm) * np.cos(spread), -np.cos(arm) * np.cos(spread)])
        elbow = shoulder + 0.178 * length * upper
        fore = arm + limb["elbow"]
        inward = limb["inward"]
        lower = np.array(
            [-sign * np.sin(inward), np.sin(fore) * np.cos(inward), -np.cos(fore) * np.cos(inward)]
        )
        wrist = elbow + 0.146 * length * lower
        hand = wrist + 0.085 * length * lower
        joints |= {
            f"shoulder_{side}": shoulder,
            f"elbow_{side}": elbow,
            f"wrist_{side}": wrist,
            f"hand_{side}": hand,
        }
    pelvis = -min(lowest)
    for value in joints.values():
        if isinstance(value, np.ndarray):
            value[2] += pelvis
    joints["pelvis"] = pelvis
    return joints


class _Pencil:
    """Collects solid parts seen along one direction, then draws them; pixels count from the ground point."""

    _ANGLES = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    _RIM = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], 1)

    def __init__(self, yaw: float, depression: float, scale: float, light: float):
        self._left = np.array([np.cos(yaw), np.sin(yaw), 0.0])  # image right, towards the camera, up
        self._ahead = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
        self._up = np.array([0.0, -np.sin(depression), np.cos(depression)])
        self._toward = np.array([0.0, np.cos(depression), np.sin(depression)])
        self.scale, self._light = scale, light
        self._parts = []  # (nearness, order, label, polygons, [(shading, polygons), ...])

    def place(self, point) -> np.ndarray:
        """Body point (left, forward, up) in metres to image-right, toward-camera, up."""
        return point[0] * self._left + point[1] * self._ahead + np.array([0.0, 0.0, point[2]])

    def pixel(self, point) -> np.ndarray:
        """Body point in metres to pixels right of and below the ground point."""
        placed = self.place(point)
        return self.scale * np.array([placed[0], -(placed @ self._up)])

    def facing(self) -> float:
        """Cosine between the person's heading and the way to the camera."""
        return float(self._ahead[1])

    def nearness(self, point) -> float:
        """Metres by which a body point is nearer to the camera than the body's axis."""
        return float(self.place(point)[1] * self._toward[1])

    def section(self, centre, half_width: float, half_depth: float) -> tuple:
        """A horizontal ellipse of the body (metres) as (centre_xy, half-width, half-height) in pixels."""
        across = np.hypot(half_width * self._left[0], half_depth * self._ahead[0])
        along = np.hypot(half_width * self._left[1], half_depth * self._ahead[1])
        return self.pixel(centre), self.scale * across, self.scale * max(along * self._toward[2], 0.004)

    def rim_point(
        self, centre, half_width: float, half_depth: float, angle: float
    ) -> tuple[np.ndarray, bool]:
        """The pixel of a section's rim at angle from straight ahead, and whether that point can be seen."""
        local = np.array([half_width * np.sin(angle), half_depth * np.cos(angle), 0.0])
        normal = self.place(np.array([np.sin(angle) / half_width, np.cos(angle) / half_depth, 0.0]))
        return self.pixel(np.asarray(centre) + local), bool(normal[1] > 0)

    def add(self, label: int, rounds: list, toward: float, shade: float = 1.0, *, limb: bool = False):
        """Add a part hulled over consecutive rounds (centre_xy, half-width, half-height)."""
        shading = []
        for inset, value in ((1.0, 0.80), (0.82, 0.96), (0.5, 1.09)):
            aside = np.array([self._light * (1 - inset) * 0.8, 0.0])
            shrunk = [(c + aside * w, inset * w, inset * h if limb else h) for c, w, h in rounds]
            shading.append((min(255, int(128 * value * shade)), self._hulls(shrunk)))
        self._parts.append((toward, len(self._parts), label, shading[0][1], shading))

    def add_limb(self, label: int, start, end, start_radius: float, end_radius: float, shade=1.0, bias=0.0):
        rounds = [
            (self.pixel(p), self.scale * r, self.scale * r)
            for p, r in ((start, start_radius), (end, end_radius))
        ]
        self.add(label, rounds, (self.nearness(start) + self.nearness(end)) / 2 + bias, shade, limb=True)

    def add_patch(self, label: int, corners: list, toward: float):
        """Add a flat polygon that keeps the shading beneath it."""
        self._parts.append((toward, len(self._parts), label, [np.asarray(corners, np.float32)], []))

    def _hulls(self, rounds: list) -> list:
        rims = [c + self._RIM * (max(w, 0.3), max(h, 0.3)) for c, w, h in rounds]
        return [cv2.convexHull(np.concatenate(pair).astype(np.float32))[:, 0] for pair in pairwise(rims)]

    def draw(self, multiple: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Label image, shading image (uint8, 128 neutral) and the ground point's (x, y) in them.

        The images' sides are multiples of the given number of pixels.
        """
        points = np.concatenate([polygon for part in self._parts for polygon in part[3]])
        low = np.floor(points.min(0)) - 2 * multiple
        width, height = (np.ceil((points.max(0) + 2 * multiple - low) / multiple) * multiple).astype(int)
        labels = np.zeros((height, width), np.uint8)
        shade = np.full((height, width), 128, np.uint8)

        def fill(image, polygons, value):
            for polygon in polygons:
                cv2.fillConvexPoly(image, np.round((polygon - low) * 16).astype(np.int32), value, shift=4)

        for _, _, label, outline, shading in sorted(self._parts, key=lambda part: part[:2]):
            fill(labels, outline, label)
            for value, polygons in shading:
                fill(shade, polygons, value)
        return labels, shade, -low


def _add_legs(pencil: _Pencil, person: Person, joints: dict, sitting: bool):
    outfit, girth, length = person.outfit, person.girth, joints["length"]
    for side in ("left", "right"):
        hip, knee, ankle = joints[f"hip_{side}"], joints[f"knee_{side}"], joints[f"ankle_{side}"]
        far = (
            0.82
            if pencil.nearness(knee)
            < pencil.nearness(joints["knee_left" if side == "right" else "knee_right"])
            else 1.0
        )
        ease = outfit.leg_ease
        bare = outfit.legs_covered < 1
        thigh, knee_radius = 0.053 * length * girth + ease, 0.034 * length * girth + ease
        calf, ankle_radius = 0.033 * length * girth, 0.021 * length
        pencil.add_limb(_BOTTOM, hip, knee, thigh, knee_radius, far, bias=0.0 if sitting else -0.25)
        pencil.add_limb(
            _SHOES,
            joints[f"heel_{side}"] + [0, 0, 0.03],
            joints[f"toe_{side}"] + [0, 0, 0.022],
            0.034,
            0.030,
            far,
            bias=-0.02,
        )
        if bare:
            pencil.add_limb(_SKIN, knee, ankle, max(calf, knee_radius - ease), ankle_radius, far)
            low = knee + (ankle - knee) * max(0.0, outfit.legs_covered - 0.45)
            pencil.add_limb(
                _BOTTOM, hip + (knee - hip) * 0.5, low, thigh, knee_radius + 0.01, far, bias=0.005
            )
        else:
            middle = knee + (ankle - knee) * 0.35
            pencil.add_limb(_BOTTOM, knee, middle, knee_radius, calf + ease, far)
            pencil.add_limb(_BOTTOM, middle, ankle, calf + ease, ankle_radius + ease + outfit.hem_ease, far)


def _torso_sections(person: Person, joints: dict, lean: float):
    """(centre, half-width, half-depth) in metres of the torso's sections from the crotch to the neck."""
    length, ease = joints["length"], person.outfit.top_ease
    sections = []
    for height, width, depth in zip(_TORSO_HEIGHTS, _TORSO_WIDTHS[person.sex], _TORSO_DEPTHS, strict=True):
        above = (height - 0.530) * length
        grown = person.girth ** (0.6 if height > 0.8 else 1.15)
        belly = 0.02 * max(0.0, person.girth - 1) if 0.55 < height < 0.7 else 0.0
        forward = np.sin(lean) * above + belly * length
        centre = np.array([0.0, forward, joints["pelvis"] + above * np.cos(lean)])
        sections.append((centre, width * length * grown + ease, depth * length * grown + ease))
    return sections


def _add_torso(pencil: _Pencil, person: Person, joints: dict, sections, sitting: bool):
    outfit, length = person.outfit, joints["length"]
    drawn = [pencil.section(*s) for s in sections]
    pencil.add(_BOTTOM, drawn[:3], -0.001)
    start = 0 if outfit.top_end < 0.5 else 1
    pencil.add(_TOP, drawn[start:], 0.0)
    if sitting:
        return
    stride = abs(joints["knee_left"][1] - joints["knee_right"][1])
    for end, label in ((outfit.skirt_end, _BOTTOM), (outfit.top_end if outfit.top_end < 0.44 else 0.0, _TOP)):
        if end:
            centre, half_width, half_depth = sections[1]
            hem = np.array([0.0, 0.0, joints["pelvis"] - (0.530 - end) * length])
            flare = 0.6 * (0.530 - end) / 0.25
            low = pencil.section(hem, half_width * 1.08, half_depth * 1.1 + stride * flare / 2)
            pencil.add(label, [low, pencil.section(centre, half_width * 1.02, half_depth * 1.02)], 0.0005)


def _add_arms(pencil: _Pencil, person: Person, joints: dict):
    outfit, girth, length = person.outfit, person.girth**0.7, joints["length"]
    for side in ("left", "right"):
        shoulder, elbow = joints[f"shoulder_{side}"], joints[f"elbow_{side}"]
        wrist, hand = joints[f"wrist_{side}"], joints[f"hand_{side}"]
        far = 0.85 if pencil.nearness(shoulder) < -0.05 else 1.0
        ease = 0.7 * outfit.top_ease
        upper, elbow_radius, wrist_radius = 0.030 * length * girth, 0.024 * length, 0.017 * length
        bias = 0.09 if pencil.facing() > -0.5 and elbow[1] < wrist[1] else 0.0
        pencil.add_limb(_SKIN, wrist, hand, 0.021 * length, 0.018 * length, far, bias=bias)
        covered = outfit.sleeves >= 1
        pencil.add_limb(
            _TOP if covered else _SKIN,
            elbow,
            wrist,
            elbow_radius + ease * covered,
            wrist_radius + (ease + 0.006) * covered,
            far,
            bias=bias,
        )
        pencil.add_limb(
            _TOP if covered else _SKIN,
            shoulder,
            elbow,
            upper + ease * covered,
            elbow_radius + ease * covered,
            far,
            bias=0.02,
        )
        if not covered:
            end = shoulder + (elbow - shoulder) * min(1.0, outfit.sleeves * 2)
            pencil.add_limb(_TOP, shoulder, end, upper + 0.012, upper + 0.014, far, bias=0.021)


def _add_head(pencil: _Pencil, person: Person, joints: dict, sections, depression: float) -> np.ndarray:
    """Neck, head, hair; returns the head's centre (left, forward, up)."""
    outfit, size = person.outfit, joints["head_scale"]
    neck = sections[-1][0]
    centre = neck + np.array([0, 0.018 * size, 0.085 * size])
    centre[2] = neck[2] - 0.862 * joints["length"] + joints["length"] * 0.852 + 0.083 * size
    pencil.add_limb(_SKIN, neck, centre, 0.036 * size, 0.034 * size, 0.8, bias=0.001)

    tall = size * pencil.scale * np.cos(depression)

    def ball(offset, half_width, half_depth, half_height, label, bias, shade=1.0):
        at = centre + np.asarray(offset) * size
        pixel, across, along = pencil.section(at, half_width * size, half_depth * size)
        rounds = [(pixel, across, float(np.hypot(tall * half_height, along)))] * 2
        pencil.add(label, rounds, pencil.nearness(at) + bias, shade, limb=True)

    cover = _CAP if outfit.cap else _HAIR
    ball((0, 0, 0), 0.044, 0.054, 0.064, _SKIN, 0.10)
    ball((0, -0.010, 0.014), 0.047, 0.055, 0.055, cover, 0.10 - 0.03 * np.sign(pencil.facing() + 0.3))
    ball((0, 0.022, -0.014), 0.041, 0.034, 0.048, _SKIN, 0.095)
    ball((0, 0.004, 0.046), 0.044, 0.052, 0.024, cover, 0.13)
    if outfit.long_hair:
        ball((0, -0.030, -0.045), 0.050, 0.030, 0.085, _HAIR, 0.03)
    if outfit.hood:
        ball((0, -0.050, -0.085), 0.062, 0.036, 0.036, _TOP, 0.03, 0.9)
    return centre


def _add_bag(pencil: _Pencil, person: Person, joints: dict, sections):
    outfit = person.outfit
    if outfit.bag == "backpack":
        low, high = sections[2], sections[4]
        back = np.array([0, -low[2] - 0.07, 0])
        pencil.add(
            _BAG,
            [pencil.section(low[0] + back, 0.14, 0.09), pencil.section(high[0] + back, 0.12, 0.07)],
            pencil.nearness(low[0] + back) + 0.005,
        )
    elif outfit.bag == "shoulder":
        side = sections[1][0] + np.array([sections[1][1] + 0.04, -0.02, 0.02])
        pencil.add(
            _BAG,
            [
                pencil.section(side - np.array([0, 0, 0.10]), 0.06, 0.17),
                pencil.section(side + np.array([0, 0, 0.13]), 0.045, 0.13),
            ],
            pencil.nearness(side) + 0.02,
        )
    elif outfit.bag == "carried":
        hand = joints["hand_right"]
        drop = hand - [0, 0, 0.05]
        pencil.add(
            _BAG,
            [pencil.section(drop - [0, 0, 0.36], 0.07, 0.19), pencil.section(drop, 0.05, 0.15)],
            pencil.nearness(hand) - 0.005 + (0.03 if pencil.nearness(hand) > 0 else 0),
        )


def _add_open_front(pencil: _Pencil, sections):
    """What an open jacket shows between its edges: the inner garment."""
    left, right = [], []
    for centre, half_width, half_depth in sections[1:-1]:
        for side, angle in ((left, 0.42), (right, -0.42)):
            point, seen = pencil.rim_point(centre, half_width, half_depth, angle)
            if not seen:
                return
            side.append(point)
    pencil.add_patch(_INNER, left + right[::-1], 0.0002)


def draw_person(
    person: Person, pose: dict, yaw: float, depression: float, pixels_per_metre: float, light: float = 0.5
) -> Sprite:
    """Draw a person in a posture as seen by a distant camera.

    yaw is the angle in radians from facing the camera, clockwise seen from above (pi/2: to the image's left);
    depression the angle at which the camera looks down; pixels_per_metre the sprite's scale; light (-1..1)
    the side that the light comes from (-1: left).
    """
    fine = 3 if pixels_per_metre < 40 else 2
    pencil = _Pencil(yaw, depression, pixels_per_metre * fine, light)
    joints = _joints(person, pose)
    sections = _torso_sections(person, joints, pose["lean"])
    sitting = pose["left"]["hip"] > 1
    _add_legs(pencil, person, joints, sitting)
    _add_torso(pencil, person, joints, sections, sitting)
    if person.outfit.open_front:
        _add_open_front(pencil, sections)
    _add_arms(pencil, person, joints)
    head = _add_head(pencil, person, joints, sections, depression)
    _add_bag(pencil, person, joints, sections)
    labels, shade, ground = pencil.draw(fine)
    image = _colour(labels, shade, person.outfit, pencil.scale, ground)
    image = cv2.resize(image, (image.shape[1] // fine, image.shape[0] // fine), interpolation=cv2.INTER_AREA)
    ground_xy, head_xy = ((p + 0.5) / fine - 0.5 for p in (ground, ground + pencil.pixel(head)))
    return Sprite(image, tuple(ground_xy), tuple(head_xy), pixels_per_metre)


def _colour(labels, shade, outfit: Outfit, scale: float, ground_xy) -> np.ndarray:
    """Labels and shading to premultiplied BGRA."""
    palette = np.zeros((256, 1, 3), np.uint8)
    for label, colour in (
        (_SKIN, outfit.skin),
        (_HAIR, outfit.hair),
        (_INNER, outfit.inner),
        (_SHOES, outfit.shoes),
        (_BAG, outfit.bag_colour),
        (_CAP, outfit.cap_colour),
    ):
        palette[label, 0] = np.clip(colour, 0, 255)
    image = cv2.LUT(cv2.merge([labels] * 3), palette)
    factor = scale / _SWATCH_SCALE
    place = np.float32(
        [
            [factor, 0, ground_xy[0] - _SWATCH_WH[0] / 2 * factor],
            [0, factor, ground_xy[1] - (_SWATCH_WH[1] - 4) * factor],
        ]
    )
    for label, swatch in ((_TOP, outfit.top), (_BOTTOM, outfit.bottom)):
        worn = cv2.compare(labels, label, cv2.CMP_EQ)
        cloth = cv2.warpAffine(swatch, place, labels.shape[::-1], borderMode=cv2.BORDER_REFLECT)
        cv2.copyTo(cloth, worn, image)
    shade = cv2.GaussianBlur(shade, (0, 0), max(0.6, 0.008 * scale))
    image = cv2.multiply(image, cv2.merge([shade] * 3), scale=1 / 128)
    alpha = cv2.compare(labels, 0, cv2.CMP_GT)
    return cv2.merge([*cv2.split(image), alpha])
