"""What changes to and fro: signs that blink, doors and slides on a screen are empty scene in each state.

A picture of people hardly comes again, as they come in all clothes and stand anywhere; that of a sign does,
in all of its pixels at once, time and again, with another in between. Who comes back to a seat may look as
before, and so no place is of one person's size.
"""

import cv2
import numpy as np

from .images import largest_difference, median_of, noise_of, resized
from .tones import DARK

#: Least share of the frames that show a state.
LEAST_SHARE = 0.1
#: How often each state is seen at the least, with another in between: who sits there comes and goes once.
LEAST_VISITS = 3
#: States of one place.
MOST_STATES = 4
ALIKE = 12  # colours are alike that differ by so many grey levels at the most, in each channel,
MATCHING = 0.8  # and frames that are alike in this share of a place's blocks: people hide the others
#: What differs in its brightness alone, by up to this factor, is no state but a lamp that flickers.
MOST_LIGHT = 2.0
#: Share of the frames in which a block is in one of its states.
_EXPLAINED = 0.75
#: Least area of a place, and of what differs between its states, in squared person heights: a person covers
#: about .2.
LEAST_AREA, LEAST_CHANGED = 0.7, 0.5
#: Places are looked for in blocks of so many pixels.
_BLOCK = 4
_CHANGED = 4  # in another state a pixel differs by more grey levels than this,
_AROUND = np.ones((5, 5), np.uint8)  # or one of those around it does


def other_states(
    frames: np.ndarray, image_bgr: np.ndarray, noise: np.ndarray, person_height: np.ndarray
) -> list[np.ndarray]:
    """Find what of an empty scene changes to and fro, and its states.

    Parameters
    ----------
    frames : (n, H, W, 3) uint8
        Spread over footage, in the order of time.
    image_bgr : (H, W, 3) uint8
        Their median; where the scene changes to and fro, it becomes the commonest state.
    noise : (H, W) float64
        Standard deviation of a pixel around that, grey levels, which becomes that around its states.
    person_height : (H, W) float32, pixels
        Height of a standing person whose body centre lies at the pixel.

    Returns
    -------
    list of (H, W, 3) uint8
        The scene with all places in their second state, with those that have one in their third, and so on;
        elsewhere as it was.
    """
    height, width = image_bgr.shape[:2]
    if min(height, width) < _BLOCK:
        return []
    size_wh = width // _BLOCK, height // _BLOCK
    few = np.stack([resized(frame, size_wh, cv2.INTER_AREA) for frame in frames])
    areas = _BLOCK**2 / np.square(cv2.resize(person_height, size_wh))
    others = []
    for place in _places(few, areas):
        states, changes = _states_of(few[:, place], areas[place])
        if changes.any():  # without who passes beside it
            place[place] = changes
            states, _ = _states_of(few[:, place], areas[place])
        if len(states) < 2 or _fewest_visits(states) < LEAST_VISITS:
            continue
        pixels, images, noise_there = _pictures(frames, states, place)
        noise[pixels] = noise_there
        others += [image_bgr.copy() for _ in range(len(states) - 1 - len(others))]
        for number, scene in enumerate([image_bgr, *others]):
            scene[pixels] = images[number if number < len(states) else 0]
    return others


def _pictures(frames, states, place) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixels (H, W) bool, in and around the blocks of a place, that change between its states; their
    colours in each state, (s, k, 3) uint8; and their largest noise in any (k,)."""
    height, width = frames.shape[1:3]
    blocks = cv2.resize(place.view(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
    around = cv2.dilate(blocks, np.ones((2 * _BLOCK + 1,) * 2, np.uint8)).view(bool)
    flat = frames.reshape(len(frames), -1, 3)
    shown = [flat[np.ix_(members, around.ravel())][:, :, None] for members in states]
    images = [median_of(some) for some in shown]
    noises = [noise_of(some, image) for some, image in zip(shown, images, strict=True)]
    changes = np.max([largest_difference(image, images[0])[:, 0] for image in images[1:]], axis=0)
    pixels = np.zeros((height, width), np.uint8)
    pixels[around] = changes > _CHANGED
    pixels = cv2.dilate(pixels, _AROUND).view(bool) & around
    chosen = pixels[around]
    return pixels, np.array(images)[:, chosen, 0], np.max(noises, axis=0)[chosen, 0]


def _places(frames, areas) -> list[np.ndarray]:
    """Coherent places (H, W) bool of blocks that have few brightnesses, but not one, in most of the frames
    (n, H, W, 3) uint8, and `LEAST_AREA` together."""
    median = median_of(frames)
    n_away = sum(largest_difference(frame, median) > ALIKE for frame in frames)
    is_place = n_away >= LEAST_SHARE * len(frames)
    grey = np.stack([cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)[is_place] for frame in frames])
    is_place[is_place] = _has_few_values(grey)
    n_labels, labels = cv2.connectedComponents(is_place.view(np.uint8))
    places = (labels == label for label in range(1, n_labels))
    return [place for place in places if areas[place].sum() >= LEAST_AREA]


def _has_few_values(grey) -> np.ndarray:
    """(k,) bool: which pixels of frames (n, k) uint8 have some of few brightnesses in most of the frames."""
    n_bins = 256 // ALIKE + 1
    numbers = np.zeros((n_bins + 1, grey.shape[1]), int)
    np.add.at(numbers, (grey // ALIKE, np.arange(grey.shape[1])), 1)
    explained = np.zeros(grey.shape[1], int)
    for _ in range(MOST_STATES):
        pairs = numbers[:-1] + numbers[1:]
        best = pairs.argmax(axis=0)
        found = np.take_along_axis(pairs, best[None], axis=0)[0]
        explained += np.where(found >= LEAST_SHARE * len(grey), found, 0)
        for neighbour in (best, best + 1):
            np.put_along_axis(numbers, neighbour[None], 0, axis=0)
    return explained >= _EXPLAINED * len(grey)


def _states_of(frames, areas) -> tuple[list[np.ndarray], np.ndarray]:
    """Frames (n, k, 3) uint8 of a place by its states, the commonest first, (n,) bool each; and which of its
    blocks change between these, (k,) bool."""
    channels = np.ascontiguousarray(frames.transpose(2, 0, 1), np.int16)
    match = np.empty((len(frames),) * 2, bool)
    for number in range(len(frames)):
        is_alike = np.logical_and.reduce([np.abs(values - values[number]) <= ALIKE for values in channels])
        match[number] = np.count_nonzero(is_alike, axis=1) >= MATCHING * is_alike.shape[1]
    states, images = [], []
    while len(states) < MOST_STATES:
        members = match[np.count_nonzero(match, axis=1).argmax()].copy()
        if np.count_nonzero(members) < LEAST_SHARE * len(frames):
            break
        match[members] = False
        match[:, members] = False
        image = np.median(frames[members], axis=0)
        if all(areas[_is_other(image, former)].sum() >= LEAST_CHANGED for former in images):
            states.append(members)
            images.append(image)
    changes = [np.abs(image - images[0]).max(axis=1) > ALIKE for image in images]
    return states, np.any(changes, axis=0) if changes else np.zeros(len(areas), bool)


def _is_other(image, former) -> np.ndarray:
    """(k,) bool: which blocks (k, 3) differ by more than their light, which can be `MOST_LIGHT` as bright."""
    gains = (image.sum(axis=1) + DARK) / (former.sum(axis=1) + DARK)
    gains = np.clip(gains, 1 / MOST_LIGHT, MOST_LIGHT)
    return np.abs(image - gains[:, None] * former).max(axis=1) > ALIKE


def _fewest_visits(states) -> int:
    """How often the rarest state comes; it stays until another is seen."""
    numbers = np.array(states).argmax(axis=0)[np.any(states, axis=0)]
    visits = numbers[np.append(True, numbers[1:] != numbers[:-1])]
    return np.bincount(visits, minlength=len(states)).min()
