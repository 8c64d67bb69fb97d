"""What a simulated scene is made of, and plausible scenes drawn at random."""

from dataclasses import dataclass, replace

import numpy as np

from .geometry import seen_length

SETTINGS = ("street", "plaza", "mall", "walkway")
PRESETS = (*SETTINGS, "overhead", "bump", "light")


@dataclass(frozen=True)
class SceneSpec:
    """Everything that decides a clip: the same spec gives the same frames, bit by bit.

    Rows and pixels are the image's; a person of 1.70 m with the feet at row y is
    ``height_slope * y + height_intercept`` pixels tall. Shares lie between 0 and 1.
    """

    seed: int
    size_wh: tuple[int, int] = (640, 480)
    fps: float = 10.0
    n_frames: int = 100
    setting: str = "plaza"  # one of SETTINGS: which floors, walls and objects surround the people

    # camera
    height_slope: float = 0.2
    height_intercept: float = 30.0
    depression_deg: float = 25.0  # how far down the camera looks at the image's last row
    far_row: float = 90.0  # where the floor meets the back wall
    near_row: float | None = None  # last row where people walk; None: until they have left the image
    roi: str = "frame"  # "frame", or "floor": the rows of bodies that walk on the floor

    # people
    people: float = 12.0  # mean number present (the count varies around it)
    variation: float = 0.5  # relative rise and fall of the arrivals over the clip
    standing_share: float = 0.15
    sitting_share: float = 0.0
    group_share: float = 0.3
    child_share: float = 0.05
    lateral_share: float = 0.6  # of the ways that lead from side to side rather than along the depth
    speed: float = 1.3  # metres per second, mean
    bag_share: float = 0.4
    winter: float = 0.5
    camouflage: float = 0.15  # share of people dressed in the colours of the background
    vehicles: float = 0.0  # that arrive in a minute, mean

    # surroundings
    side_walls: tuple[float | None, float | None] = (None, None)  # metres left and right of the middle
    occluders: int = 3
    plants: int = 1
    plant_sway: float = 0.5

    # light
    cast_shadow: float = 0.0  # 0 overcast .. 0.6 hard sun
    sun: tuple[float, float] = (0.8, 0.4)  # metres of shadow per metre of height: to the right, away
    contact_shadow: float = 0.3
    reflection: float = 0.0  # of people on the floor, 0 .. 0.3
    light_drift: float = 0.02  # relative amplitude of the slow changes
    flicker: float = 0.003  # relative spread from frame to frame
    light_switch_frame: int | None = None
    light_switch_gain: float = 0.6

    # camera chain
    bump_frame: int | None = None
    bump_shift: tuple[int, int] = (14, -9)  # pixels by which the image's content moves, at most 30
    shake: float = 0.0  # pixels
    exposure: float = 1.0  # times what the camera's light meter chooses for the empty scene
    contrast: float = 1.1
    saturation: float = 1.0
    white_balance: tuple[float, float] = (1.0, 1.0)  # gains of blue and red
    blur: float = 0.6  # pixels (Gaussian sigma)
    sharpening: float = 0.0
    noise: float = 2.0  # grey levels (standard deviation)
    jpeg_quality: int = 80


def preset(name: str, seed: int, **changes) -> SceneSpec:
    """A plausible scene of a kind; fields can be given by name.

    Parameters
    ----------
    name : str
        A setting of SETTINGS, or a plaza: "bump", whose camera moves halfway, "light", whose light dims, or
        "overhead", seen from straight above.
    seed : int
    changes
        Fields of SceneSpec; a size_wh scales the view with it.

    Raises
    ------
    ValueError
        For an unknown name.
    """
    size_wh = changes.pop("size_wh", None)
    if name in ("bump", "light"):
        frames = changes.get("n_frames", SceneSpec.n_frames)
        event = {"bump": "bump_frame", "light": "light_switch_frame"}[name]
        return replace(random_spec(seed, setting="plaza", size_wh=size_wh), **{event: frames // 2} | changes)
    if name == "overhead":
        spec = random_spec(seed, setting="plaza", size_wh=size_wh)
        return replace(spec, **_overhead(np.random.default_rng([seed, 8]), spec.size_wh) | changes)
    if name not in SETTINGS:
        raise ValueError(f"expected one of {', '.join(PRESETS)}, got {name!r}")
    return replace(random_spec(seed, setting=name, size_wh=size_wh), **changes)


def random_spec(
    seed: int,
    *,
    setting: str | None = None,
    size_wh: tuple[int, int] | None = None,
    n_frames: int = 100,
) -> SceneSpec:
    """Draw a scene: any camera from a street corner at eye level to a steep view of a mall, any crowd.

    setting (one of SETTINGS) and size_wh (width, height in pixels) are drawn too unless they are given.
    """
    rng = np.random.default_rng([seed, 7])
    if setting is None:
        setting = str(rng.choice(SETTINGS, p=[0.3, 0.28, 0.3, 0.12]))
    sizes = [(640, 480), (768, 576), (640, 360), (704, 576), (480, 360)]
    drawn_size = sizes[int(rng.choice(5, p=[0.5, 0.2, 0.12, 0.1, 0.08]))]
    size_wh = size_wh or drawn_size
    camera = {"street": _street, "plaza": _plaza, "mall": _mall, "walkway": _walkway}[setting](rng, size_wh)
    indoor = setting == "mall"
    sunny = not indoor and rng.random() < 0.4
    spec = SceneSpec(
        seed=seed,
        size_wh=size_wh,
        n_frames=n_frames,
        setting=setting,
        **camera,
        roi=str(rng.choice(["frame", "floor"])),
        variation=rng.uniform(0.3, 0.9),
        group_share=rng.uniform(0.1, 0.55),
        child_share=rng.uniform(0, 0.12),
        bag_share=rng.uniform(0.2, 0.65),
        winter=rng.beta(1, 0.7),
        camouflage=rng.uniform(0.05, 0.35),
        plants=int(rng.integers(0, 3)),
        plant_sway=rng.uniform(0, 1) * (0.15 if indoor else 1.0),
        cast_shadow=rng.uniform(0.2, 0.55) if sunny else 0.0,
        sun=(rng.uniform(-1.4, 1.4), rng.uniform(-0.9, 0.9)),
        contact_shadow=rng.uniform(0.08, 0.4),
        reflection=rng.uniform(0.04, 0.22) if indoor and rng.random() < 0.75 else 0.0,
        light_drift=rng.choice([0.01, 0.03, 0.07]),
        flicker=rng.choice([0.001, 0.004, 0.01]),
        shake=float(rng.choice([0.0, 0.15, 0.4], p=[0.75, 0.17, 0.08])),
        exposure=rng.uniform(0.8, 1.2),
        contrast=rng.uniform(0.8, 1.4) if rng.random() < 0.85 else rng.uniform(1.4, 1.8),
        saturation=rng.uniform(0.5, 1.2),
        white_balance=(rng.normal(0.88 if indoor else 1.0, 0.07), rng.normal(1.06 if indoor else 1.0, 0.05)),
        blur=rng.uniform(0.4, 1.5),
        sharpening=float(rng.choice([0.0, rng.uniform(0.3, 1.2)], p=[0.6, 0.4])),
        noise=float(np.exp(rng.uniform(np.log(0.5), np.log(5)))),
        jpeg_quality=int(rng.integers(45, 96)),
    )
    return replace(spec, people=_crowd(rng, spec))


def _line(far_row: float, far_height: float, near_row: float, near_height: float) -> dict:
    slope = (near_height - far_height) / (near_row - far_row)
    return {"height_slope": slope, "height_intercept": near_height - slope * near_row, "far_row": far_row}


def _street(rng, size_wh) -> dict:
    """Near-horizontal views at 1.6 to 4 m above the pavement: large people who cross from side to side."""
    height = size_wh[1]
    far_row = height * rng.uniform(0.48, 0.72)
    near = height * rng.uniform(0.40, 0.70)
    far = near * rng.uniform(0.4, 0.75)
    eye = rng.uniform(1.6, 4.0)
    line = _line(far_row, far, height, near)
    return line | {
        "depression_deg": rng.uniform(6, 18) if eye > 2.4 else rng.uniform(4, 9),
        "near_row": height * rng.uniform(0.98, 1.12),
        "fps": float(rng.choice([8, 12.5, 25])),
        "standing_share": rng.uniform(0, 0.3),
        "lateral_share": rng.uniform(0.7, 1.0),
        "speed": rng.uniform(1.1, 1.45),
        "occluders": int(rng.integers(0, 4)),
    }


def _plaza(rng, size_wh) -> dict:
    """Views of squares, campuses and car parks from the first to the fourth floor."""
    height = size_wh[1]
    far_row = height * rng.uniform(0.08, 0.35)
    near = height * rng.uniform(0.14, 0.34)
    far = near * rng.uniform(0.25, 0.7)
    return _line(far_row, far, height, near) | {
        "depression_deg": rng.uniform(14, 38),
        "fps": float(rng.choice([5, 7, 10, 25])),
        "standing_share": rng.uniform(0, 0.35),
        "sitting_share": float(rng.choice([0.0, 0.05])),
        "lateral_share": rng.uniform(0.4, 0.9),
        "speed": rng.uniform(1.15, 1.45),
        "occluders": int(rng.integers(0, 7)),
    }


def _mall(rng, size_wh) -> dict:
    """Views along halls from a gallery: far people small, near people seen from above, many who linger."""
    height = size_wh[1]
    far_row = height * rng.uniform(0.05, 0.25)
    near = height * rng.uniform(0.22, 0.42)
    far = near * rng.uniform(0.18, 0.45)
    line = _line(far_row, far, height, near)
    metres = size_wh[0] / 2 / near * 1.7  # half the image's width on the ground at the last row
    walls = tuple(metres * rng.uniform(0.8, 2.2) if rng.random() < 0.7 else None for _ in range(2))
    return line | {
        "depression_deg": rng.uniform(20, 42),
        "side_walls": walls,
        "fps": float(rng.choice([1, 2, 5, 12.5, 25], p=[0.25, 0.25, 0.2, 0.2, 0.1])),
        "standing_share": rng.uniform(0.1, 0.5),
        "sitting_share": float(rng.choice([0.0, 0.08, 0.15])),
        "lateral_share": rng.uniform(0.1, 0.6),
        "speed": rng.uniform(0.85, 1.25),
        "occluders": int(rng.integers(1, 7)),
    }


def _walkway(rng, size_wh) -> dict:
    """Crowds of small people on a path seen from high up and far away."""
    height = size_wh[1]
    far_row = height * rng.uniform(0.05, 0.3)
    near = height * rng.uniform(0.10, 0.2)
    far = near * rng.uniform(0.4, 0.8)
    return _line(far_row, far, height, near) | {
        "depression_deg": rng.uniform(20, 45),
        "fps": float(rng.choice([5, 10])),
        "standing_share": rng.uniform(0, 0.2),
        "lateral_share": rng.uniform(0, 0.8),
        "speed": rng.uniform(1.2, 1.5),
        "occluders": int(rng.integers(0, 4)),
    }


def _overhead(rng, size_wh) -> dict:
    """Views from a ceiling or a mast straight down on 5 to 12 metres of floor, which goes on on all sides."""
    metre = size_wh[0] / rng.uniform(5, 12)
    depression = rng.uniform(84, 89)
    return {
        "height_slope": 0.0,
        "height_intercept": metre * seen_length(np.radians(depression)),
        "depression_deg": depression,
        "far_row": -2 * metre,
        "near_row": size_wh[1] + 2 * metre,
        "roi": "frame",
        "people": float(np.exp(rng.uniform(np.log(2), np.log(15)))),
        "occluders": 0,
        "plants": 0,
    }


def _crowd(rng, spec: SceneSpec) -> float:
    """A mean number of people, even over the orders of magnitude, that the visible floor can hold."""
    middle = (spec.far_row + spec.size_wh[1]) / 2
    body = 0.3 * (spec.height_slope * middle + spec.height_intercept) ** 2
    floor = spec.size_wh[0] * (spec.size_wh[1] - spec.far_row)
    most = float(np.clip(0.55 * floor / body, 4, 60))
    return float(np.exp(rng.uniform(np.log(2), np.log(most))))
