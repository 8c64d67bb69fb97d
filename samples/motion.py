"""Where everyone is at any time: paths on the ground with arrivals, groups, pauses and departures."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: Who passes is taken to be in view for so many seconds at the least: where nearly everyone passes beside the
#: view there are fewer people than asked for, rather than hundreds of thousands who are never seen.
LEAST_PRESENCE_S = 1.0
_TURNING = 0.35  # seconds over which a heading is averaged, so that corners are rounded
_STEP_LENGTH_PER_STATURE = 0.41  # Winter 2009: a stride (two steps) is about 0.82 of the stature


@dataclass(frozen=True)
class Placement:
    """A person at one moment: metres on the ground, heading (radians, as draw_person's yaw), what they do."""

    x: float
    depth: float
    yaw: float
    action: str  # "walk", "stand" or "sit"
    phase: float  # of the walking cycle, 0..1
    variant: int  # of the standing or sitting posture


@dataclass(frozen=True, eq=False)
class Track:
    """One person's way through the scene: knots of time, place, and the interval at rest, if any."""

    times: np.ndarray
    xs: np.ndarray
    depths: np.ndarray
    rest: tuple[float, float]  # from, to in seconds; equal when the person never rests
    rest_action: str
    rest_yaw: float
    rest_seed: int
    child: bool
    stride_offset: float

    @property
    def start(self) -> float:
        return float(self.times[0])

    @property
    def end(self) -> float:
        return float(self.times[-1])

    def at(self, time_s: float, stature: float) -> Placement:
        """Place and posture at a time between start and end."""
        x, depth = self._place(time_s)
        if self.rest[0] < time_s < self.rest[1]:
            return self._resting(time_s, x, depth)
        before, after = self._place(time_s - _TURNING), self._place(time_s + _TURNING)
        yaw = np.arctan2(-(after[0] - before[0]), -(after[1] - before[1]))
        travelled = self._travelled(time_s)
        phase = (travelled / (2 * _STEP_LENGTH_PER_STATURE * stature) + self.stride_offset) % 1.0
        return Placement(x, depth, float(yaw), "walk", float(phase), 0)

    def _place(self, time_s: float) -> tuple[float, float]:
        return float(np.interp(time_s, self.times, self.xs)), float(
            np.interp(time_s, self.times, self.depths)
        )

    def _travelled(self, time_s: float) -> float:
        legs = np.hypot(np.diff(self.xs), np.diff(self.depths))
        return float(np.interp(time_s, self.times, np.concatenate([[0.0], np.cumsum(legs)])))

    def _resting(self, time_s: float, x: float, depth: float) -> Placement:
        """At rest: a sway of a centimetre, and now and then another posture and a turn."""
        since = time_s - self.rest[0]
        changes = np.random.default_rng(self.rest_seed).exponential(11.0, 400).cumsum()
        variant = int(np.searchsorted(changes, since))
        turn = np.random.default_rng([self.rest_seed, variant]).normal(0, 0.35)
        sway = 0.010 * np.sin(2 * np.pi * since / 3.7) + 0.006 * np.sin(2 * np.pi * since / 1.3)
        return Placement(x + sway, depth, self.rest_yaw + turn, self.rest_action, 0.0, variant)


@dataclass(frozen=True, eq=False)
class Floor:
    """Where people can be: the ground between near and far depth, its sides, doors and obstacles.

    half_width gives the metres from the middle to the side border at a depth; in_view tells of places
    (xs, depths) whether the camera sees a person's head there. People come and go through open_sides, the
    open_near border and the doors: (x, depth, x behind, depth behind) from the floor into hiding. Obstacles
    are (x, depth, radius); seats are (x, depth, yaw).
    """

    near: float
    far: float
    half_width: Callable[[float], float]
    in_view: Callable[[np.ndarray, np.ndarray], np.ndarray]
    open_sides: bool
    open_near: bool
    doors: tuple
    obstacles: tuple
    seats: tuple


class Population:
    """Draws every track of a scene up front from a seed."""

    def __init__(
        self,
        floor: Floor,
        rng: np.random.Generator,
        *,
        people: float,
        duration: float,
        standing_share: float,
        sitting_share: float,
        group_share: float,
        child_share: float,
        lateral_share: float,
        speed: float,
        variation: float,
    ):
        self._floor, self._rng = floor, rng
        self._group_share, self._child_share = group_share, child_share
        self._lateral_share, self._speed = lateral_share, speed
        self._people, self._duration, self._variation = people, duration, variation
        self._resting = {"stand": standing_share, "sit": sitting_share if floor.seats else 0.0}

    def tracks(self) -> list[Track]:
        """Everyone who is in the scene at some time of the clip, ordered by arrival."""
        walking = max(0.0, 1.0 - sum(self._resting.values()))
        tracks = []
        for action, share in (("walk", walking), *self._resting.items()):
            if self._people * share > 0:
                tracks += self._arrivals(action, self._people * share)
        return sorted(tracks, key=lambda track: track.start)

    def _arrivals(self, action: str, people: float) -> list[Track]:
        """A Poisson stream of groups with a mean number of people in view, its rate rising and falling."""
        rng = self._rng
        trial = [self._group(action, 0.0) for _ in range(32)]
        presence = np.mean([sum(self._seconds_in_view(t) for t in group) for group in trial])
        if presence <= 0:
            return []
        presence = max(presence, LEAST_PRESENCE_S)
        longest = max(t.end - t.start for group in trial for t in group)
        rate = people / presence
        period = self._duration * rng.uniform(0.6, 1.6)
        turn = rng.uniform(0, 2 * np.pi)
        tracks, time_s = [], -longest
        while True:
            time_s += rng.exponential(1 / (rate * (1 + self._variation)))
            if time_s > self._duration:
                return tracks
            wave = 1 + self._variation * np.sin(2 * np.pi * time_s / period + turn)
            if rng.random() < wave / (1 + self._variation):
                tracks += [t for t in self._group(action, time_s) if t.end > 0]

    def _seconds_in_view(self, track: Track) -> float:
        times = np.linspace(track.start, track.end, 60)
        seen = self._floor.in_view(
            np.interp(times, track.times, track.xs), np.interp(times, track.times, track.depths)
        )
        return float(np.mean(seen)) * (track.end - track.start)

    def _group(self, action: str, start: float) -> list[Track]:
        """One to four people who enter together at a time."""
        rng = self._rng
        size = 1 if rng.random() > self._group_share else int(rng.choice([2, 3, 4], p=[0.7, 0.2, 0.1]))
        speed = float(np.clip(rng.normal(self._speed, 0.18), 0.5, 2.2)) * (0.88 if size > 1 else 1.0)
        if size == 1 and rng.random() < 0.015:
            speed *= 1.9
        if action == "sit":
            size = 1
        seat = self._floor.seats[rng.integers(len(self._floor.seats))] if action == "sit" else None
        points, rest_at = self._path(action, seat)
        rest = 0.0
        if action != "walk":
            rest = rng.exponential(90.0) + 5
        elif rng.random() < 0.08:
            rest = rng.exponential(5.0) + 1
        legs = np.hypot(*np.diff(points, axis=0).T)
        times = start + np.concatenate([[0.0], legs.cumsum() / speed])
        spot = points[rest_at] if rest else points[0]
        across = np.array([-(points[-1] - points[0])[1], (points[-1] - points[0])[0]])
        across = across / max(np.hypot(*across), 1e-6)
        facing = rng.uniform(-np.pi, np.pi)
        tracks = []
        for member in range(size):
            beside = (member - (size - 1) / 2) * rng.uniform(0.55, 0.8)
            behind = rng.uniform(-0.3, 0.3) if size > 1 else 0.0
            places = points + across * beside + np.array([across[1], -across[0]]) * behind
            yaw = facing
            if rest and size > 1 and action == "stand":  # in a ring, facing each other
                angle = 2 * np.pi * member / size + facing
                places[rest_at] = spot + 0.5 * np.array([np.sin(angle), np.cos(angle)])
                yaw = angle
            elif seat is not None:
                places[rest_at], yaw = seat[:2], seat[2]
            tracks.append(self._track(times, places, rest_at, rest, action, yaw, size > 1 and member > 0))
        return tracks

    def _track(self, times, places, rest_at, rest, action, yaw, may_be_child) -> Track:
        rng = self._rng
        halt = times[rest_at]
        if rest:
            times = np.concatenate([times[: rest_at + 1], times[rest_at:] + rest])
            places = np.concatenate([places[: rest_at + 1], places[rest_at:]])
        child = rng.random() < self._child_share * (1.8 if may_be_child else 0.4)
        return Track(
            times,
            places[:, 0],
            places[:, 1],
            (halt, halt + rest),
            "sit" if action == "sit" else "stand",
            float(yaw),
            int(rng.integers(2**31)),
            bool(child),
            rng.random(),
        )

    def _path(self, action: str, seat) -> tuple[np.ndarray, int]:
        """Points (n, 2) from an entry to an exit, clear of obstacles if possible, and where to rest."""
        best = None
        for _ in range(8):
            first, last = self._ends()
            inner = [np.asarray(seat[:2])] if seat is not None else []
            if action == "stand":
                inner = [self._spot()]
            elif action == "walk":
                share = self._rng.uniform(0.3, 0.7)
                straight = (1 - share) * first[-1] + share * last[-1]
                inner = [straight + self._rng.normal(0, 0.8, 2)]
            points = np.array([*first, *inner, *last[::-1]])
            clear = self._clearance(points)
            if best is None or clear > best[0]:
                best = (clear, points, len(first))
            if clear > 0:
                break
        return best[1], best[2]

    def _ends(self):
        """Two ends of a way, each from hiding to the floor: a list of one or two points."""
        rng, floor = self._rng, self._floor
        kinds = ["left", "right"] if floor.open_sides else []
        lateral = bool(kinds) and rng.random() < self._lateral_share
        along = [("door", door) for door in floor.doors] + ([("near", None)] if floor.open_near else [])
        if lateral or len(along) < 2:
            depth = self._depth()
            ends = [
                self._side(-1, depth),
                self._side(1, depth + rng.normal(0, 0.12 * (floor.far - floor.near))),
            ]
        else:
            first = along[rng.integers(len(along))]
            rest = [end for end in along if end is not first]
            if kinds and rng.random() < 0.35:
                second = self._side(rng.choice([-1, 1]), self._depth())
            else:
                second = self._along(rest[rng.integers(len(rest))])
            ends = [self._along(first), second]
        if rng.random() < 0.5:
            ends.reverse()
        return ends

    def _side(self, sign: int, depth: float):
        depth = float(np.clip(depth, self._floor.near, self._floor.far - 0.5))
        return [np.array([sign * (self._floor.half_width(depth) + 1.1), depth])]

    def _along(self, end):
        kind, door = end
        if kind == "near":
            depth = self._floor.near
            reach = 0.9 * self._floor.half_width(depth)
            return [np.array([self._rng.uniform(-reach, reach), depth])]
        x, depth, hidden_x, hidden_depth = door
        return [np.array([hidden_x, hidden_depth]), np.array([x + self._rng.normal(0, 0.15), depth])]

    def _depth(self) -> float:
        """Half the ways spread evenly over the depth, half nearer to the camera where people are large."""
        share = self._rng.random() ** (2.0 if self._rng.random() < 0.5 else 1.0)
        return self._floor.near + share * (self._floor.far - 0.5 - self._floor.near)

    def _spot(self) -> np.ndarray:
        for _ in range(10):
            depth = self._depth()
            reach = 0.95 * self._floor.half_width(depth)
            spot = np.array([self._rng.uniform(-reach, reach), depth])
            if self._clearance(spot[None]) > 0:
                break
        return spot

    def _clearance(self, points: np.ndarray) -> float:
        """Smallest distance in metres of a path (or point) to the obstacles' edges."""
        ways = points
        if len(points) > 1:
            share = np.linspace(0, 1, 12)[:, None, None]
            ways = ((1 - share) * points[:-1] + share * points[1:]).reshape(-1, 2)
        gaps = [np.hypot(ways[:, 0] - x, ways[:, 1] - z).min() - r - 0.3 for x, z, r in self._floor.obstacles]
        return min(gaps, default=1.0)
