"""Has the camera moved? Small patches of the empty scene are looked for around their places.

Frames of one that was moved a little are brought back to the view before (image registration).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from .images import median_of

#: Width at which the images are compared, pixels.
WIDTH = 320
MIN_SHIFT = 2  # pixels to a side, at that width: the camera counts as moved from such a shift on
MAX_SHIFT = 14  # pixels: patches are sought so far around their places
N_PATCHES, PATCH_RADIUS = 24, 10  # so many at the most, of 2 * radius + 1 pixels to a side
#: A patch is found where the normalized correlation reaches this.
MIN_CORRELATION = 0.6
#: With fewer patches than this the scene has too little texture to tell.
MIN_PATCHES = 4
#: So many patches in place are no chance.
FEW_PATCHES = 2
_N_FEATURES, _LEAST_CONTRAST = 1000, 0.02  # of SIFT: so many in an image at the most; their least contrast
_RATIO = 0.8  # one is found again where the nearest descriptor is less than so many times as far as the next
_WITHIN = 1.5  # pixels: those agree that one homography moves so close to where they are found
_FEW_FEATURES = 20  # a frame is registered where so many features agree,
_AGREEING_SHARE = 0.25  # and this share of those that were found again
#: It is of another view where less than this share of the region of interest is still in it.
_LEAST_IN_VIEW = 0.75
#: A view of footage is one that at least this share of its images show; so many are looked for at the most.
LEAST_SHARE, MOST_VIEWS = 1 / 8, 8
#: It differs from another by more than so many grey levels in more than this share of the pixels: in a scene
#: with little texture, those who stand in it may be all that is found in place.
_DIFFERENCE, _DIFFERING_SHARE = 10, 1 / 4


def showing_one_view(images_bgr: Iterable[np.ndarray]) -> list[np.ndarray]:
    """The images (H, W, 3) uint8 of footage but those of another view: of behind a cut or a camera's move.

    Kept is the first view that half as many images show as the commonest, and what is of no view, as in fog
    or while the camera turns. A view is the images in place beside one of them; two that have `LEAST_SHARE`
    of all images in common are one, of which people hide much, and so are two that look much the same but
    for them.
    """
    images_bgr = list(images_bgr)
    least = LEAST_SHARE * len(images_bgr)
    views, seen = [], np.zeros(len(images_bgr), bool)
    for _ in range(MOST_VIEWS):
        if seen.all():
            break
        watch = CameraWatch(images_bgr[seen.argmin()])
        view = np.array([watch.recognises(image) for image in images_bgr])
        seen |= view
        same = [other for other in views if (view & other).sum() >= least]
        views = [other for other in views if (view & other).sum() < least] + [np.any([view, *same], axis=0)]
    views = sorted((view for view in views if view.sum() >= least), key=np.argmax)
    half = max((view.sum() / 2 for view in views), default=0)
    kept = next((view for view in views if view.sum() >= half), seen)
    others = [view & ~kept for view in views]
    others = [view for view in others if view.sum() >= least and _differ(images_bgr, view, kept)]
    is_other = np.any([np.zeros_like(seen), *others], axis=0)
    return [image for image, other in zip(images_bgr, is_other, strict=True) if not other]


def _differ(images_bgr, view, other) -> bool:
    """Whether some of the images (n,) bool, and others, show scenes that differ in much of the picture, or of
    which one is the other shifted."""
    scene, other_scene = (median_of([images_bgr[k] for k in np.flatnonzero(some)]) for some in (view, other))
    differences = cv2.absdiff(CameraWatch.reduced(scene), CameraWatch.reduced(other_scene))
    is_other = np.mean(differences > _DIFFERENCE) > _DIFFERING_SHARE
    return is_other or CameraWatch(scene).shift(other_scene) not in (None, (0.0, 0.0))


@dataclass(frozen=True, eq=False)
class Registration:
    """Where a view is in the frames of a camera that was moved.

    Attributes
    ----------
    homography : (3, 3) float64
        From each place of the view to that in the frames, pixels.
    in_view : (H, W) bool
        What of the view the frames show.
    """

    homography: np.ndarray
    in_view: np.ndarray

    def brought_back(self, frame_bgr: np.ndarray) -> np.ndarray:
        """A frame (H, W, 3) uint8 as the camera would show it had it not been moved, its edge repeated where
        nothing of it is."""
        return _warped(frame_bgr, self.homography, cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP)

    @cached_property
    def moved(self) -> np.ndarray:
        """The homography (3, 3) float64 between places in shares of the picture's width and height, from its
        corner: the same at any size."""
        shares = _shares(self.in_view.shape)
        return shares @ self.homography @ np.linalg.inv(shares)


def stacked(moves: Iterable[np.ndarray | None]) -> np.ndarray:
    """`Registration.moved` of frames, None in its place, as (n, 3, 3) float64, NaN in its place."""
    return np.stack([np.full((3, 3), np.nan) if moved is None else moved for moved in moves])


def mapped(places: np.ndarray, homography: np.ndarray) -> np.ndarray:
    """Places (n, 2), of which there may be none, where a homography (3, 3) has them."""
    found = np.column_stack([places, np.ones(len(places))]) @ homography.T
    return found[:, :2] / found[:, 2:]


def as_seen(mask: np.ndarray, moved: np.ndarray | None) -> np.ndarray:
    """A mask (H, W) bool of a view, at any size, where it is in frames as `Registration.moved` tells; as it
    is for None or NaN."""
    if moved is None or np.isnan(moved).any():
        return mask
    shares = _shares(mask.shape)
    homography = np.linalg.inv(shares) @ moved @ shares
    return _warped(mask.view(np.uint8), homography, cv2.INTER_NEAREST, cv2.BORDER_CONSTANT).view(bool)


def _shares(shape) -> np.ndarray:
    """(3, 3) float64: from pixels of a picture of some shape, the centre of whose first is (0, 0), to shares
    of its width and height."""
    height, width = shape
    return np.array([[1 / width, 0, 0.5 / width], [0, 1 / height, 0.5 / height], [0, 0, 1]])


def _warped(image, homography, flags, border=cv2.BORDER_REPLICATE) -> np.ndarray:
    return cv2.warpPerspective(image, homography, image.shape[1::-1], flags=flags, borderMode=border)


class CameraWatch:
    """Compares frames with the empty scene through patches at its corners, which people hide only in part.

    Parameters
    ----------
    reference_bgr : (H, W, 3) uint8
        The empty scene.
    """

    def __init__(self, reference_bgr: np.ndarray):
        self._reference_bgr = reference_bgr
        reference = self.reduced(reference_bgr)
        margin = PATCH_RADIUS + MAX_SHIFT
        inner = np.zeros(reference.shape, np.uint8)
        inner[margin:-margin, margin:-margin] = 255
        corners = cv2.goodFeaturesToTrack(reference, N_PATCHES, 0.02, WIDTH / 12, mask=inner, blockSize=7)
        self._places = np.zeros((0, 2), int) if corners is None else corners.reshape(-1, 2).astype(int)
        self._patches = [
            reference[y - PATCH_RADIUS : y + PATCH_RADIUS + 1, x - PATCH_RADIUS : x + PATCH_RADIUS + 1]
            for x, y in self._places
        ]
        self._near = self._places_near(reference_bgr.shape, reference.shape)
        self._sought = _standardised(reference_bgr.ravel().take(self._near[0]))

    def recognises(self, frame_bgr: np.ndarray) -> bool:
        """Whether a (H, W, 3) uint8 frame shows the scene in its place, or nothing tells; see `shift`."""
        return self.shift(frame_bgr) == (0.0, 0.0)

    def shift(self, frame_bgr: np.ndarray) -> tuple[float, float] | None:
        """Shift (dx, dy) of a (H, W, 3) uint8 frame against the empty scene, in its pixels.

        The shift that most patches agree on within a pixel. A camera rarely moves, while a crowd may hide
        most patches: `FEW_PATCHES` in place are enough for (0, 0) unless more agree on another shift. (0, 0)
        too where the scene has too little texture to tell; None where the view is lost (moved far, covered).
        """
        if len(self._patches) < MIN_PATCHES or self._mostly_in_place(frame_bgr):
            return 0.0, 0.0
        frame = self.reduced(frame_bgr)
        shifts = []
        for (x, y), patch in zip(self._places, self._patches, strict=True):
            reach = PATCH_RADIUS + MAX_SHIFT
            around = frame[y - reach : y + reach + 1, x - reach : x + reach + 1]
            correlation = cv2.matchTemplate(around, patch, cv2.TM_CCOEFF_NORMED)
            _, best, _, (column, row) = cv2.minMaxLoc(correlation)
            if best >= MIN_CORRELATION:
                shifts.append((column - MAX_SHIFT, row - MAX_SHIFT))
        shifts = np.array(shifts).reshape(-1, 2)
        agree = (np.abs(shifts[:, None] - shifts) <= 1).all(axis=-1)
        in_place = (np.abs(shifts) < MIN_SHIFT).all(axis=-1)
        votes = np.where(in_place, 0, agree.sum(axis=0))
        if np.count_nonzero(in_place) >= max(FEW_PATCHES, votes.max(initial=0)):
            return 0.0, 0.0
        if votes.max(initial=0) < max(MIN_PATCHES - 1, len(self._patches) / 5):
            return None
        to_frame = np.divide(frame_bgr.shape[1::-1], frame.shape[::-1])
        dx, dy = shifts[agree[votes.argmax()]].mean(axis=0) * to_frame
        return float(dx), float(dy)

    def registered(self, frame_bgr: np.ndarray, roi: np.ndarray) -> Registration | None:
        """Where the scene is in a frame (H, W, 3) uint8 of a camera that was moved; None where nothing tells,
        or less than three quarters of a region (H, W) bool are still in view.

        Its features (SIFT, Lowe 2004) are found again and agree on a homography (RANSAC), as when a camera
        turns; those of people are in frames alone.
        """
        homography = self._homography(frame_bgr)
        if homography is None:
            return None
        whole = np.ones(roi.shape, np.uint8)
        in_view = _warped(whole, homography, cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP, cv2.BORDER_CONSTANT)
        in_view = cv2.erode(in_view, np.ones((3, 3)), borderValue=1).view(bool)
        n_in_view, n_pixels = np.count_nonzero(in_view & roi), np.count_nonzero(roi)
        return Registration(homography, in_view) if n_in_view >= _LEAST_IN_VIEW * n_pixels else None

    @cached_property
    def _features(self) -> tuple[np.ndarray, np.ndarray | None]:
        """`_features_of` the scene."""
        return _features_of(self._reference_bgr)

    def _homography(self, frame_bgr) -> np.ndarray | None:
        """(3, 3) float64: from places of the scene to those in a frame."""
        (places, sought), (seen, found) = self._features, _features_of(frame_bgr)
        if min(len(places), len(seen)) < _FEW_FEATURES:
            return None
        matches = cv2.BFMatcher().knnMatch(sought, found, k=2)
        pairs = [best for best, other in matches if best.distance < _RATIO * other.distance]
        if len(pairs) < _FEW_FEATURES:
            return None
        source, target = places[[pair.queryIdx for pair in pairs]], seen[[pair.trainIdx for pair in pairs]]
        homography, agree = cv2.findHomography(source, target, cv2.RANSAC, _WITHIN)
        if homography is None or np.count_nonzero(agree) < max(_FEW_FEATURES, _AGREEING_SHARE * len(pairs)):
            return None
        return homography

    def _places_near(self, shape, reduced_shape) -> np.ndarray:
        """Where the patches' pixels are in the green channel of frames of some shape, read row by row.

        (5, n_patches, k): in place, and `MIN_SHIFT` beside it to each side; every second row and column.
        """
        side = np.arange(-PATCH_RADIUS, PATCH_RADIUS + 1, 2)
        moves = MIN_SHIFT * np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)])
        x, y = (moves[:, None] + self._places).transpose(2, 0, 1)[..., None, None]
        rows = ((y + side[:, None] + 0.5) * shape[0] / reduced_shape[0]).astype(int)
        columns = ((x + side + 0.5) * shape[1] / reduced_shape[1]).astype(int)
        return (3 * (rows * shape[1] + columns) + 1).reshape(*x.shape[:2], len(side) ** 2)

    def _mostly_in_place(self, frame_bgr) -> bool:
        """Whether most patches are in place rather than `MIN_SHIFT` beside it: the usual case, told fast."""
        found = _standardised(frame_bgr.ravel().take(self._near))
        correlations = np.einsum("mpk,pk->mp", found, self._sought)
        in_place = (correlations[0] >= MIN_CORRELATION) & (correlations[0] >= correlations.max(axis=0))
        return np.count_nonzero(in_place) > len(self._patches) / 2

    @staticmethod
    def reduced(frame_bgr: np.ndarray) -> np.ndarray:
        """A frame (H, W, 3) uint8 as it is compared: (h, `WIDTH`) uint8, its brightness."""
        height, width = frame_bgr.shape[:2]
        size_wh = (WIDTH, max(2 * (PATCH_RADIUS + MAX_SHIFT) + 2, round(height * WIDTH / width)))
        return cv2.resize(cv2.cvtColor(frame_bgr, cv2.COLOR_BGR2GRAY), size_wh, interpolation=cv2.INTER_AREA)


def _features_of(image_bgr) -> tuple[np.ndarray, np.ndarray | None]:
    """Places (n, 2) float32 of features in an image, pixels, and their descriptors (n, 128) float32; None
    without any."""
    sift = cv2.SIFT_create(_N_FEATURES, contrastThreshold=_LEAST_CONTRAST)
    found, descriptors = sift.detectAndCompute(cv2.cvtColor(image_bgr, cv2.COLOR_BGR2GRAY), None)
    return np.float32([one.pt for one in found]).reshape(-1, 2), descriptors


def _standardised(patches) -> np.ndarray:
    """Patches (..., k) uint8 less their mean, as unit vectors float32; zeros where a patch is flat."""
    patches = patches - patches.mean(axis=-1, keepdims=True, dtype=np.float32)
    return patches / np.maximum(np.linalg.norm(patches, axis=-1, keepdims=True), 1e-6)
