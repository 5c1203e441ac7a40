"""Labelled images for training: the .npz file, normalisation, and random crops and flips."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpusim.base.errors import UserError

IMAGE_SIDE = 32
CIFAR_CLASSES = 10
# Zero pixels added on each side before a random 32x32 crop: the usual CIFAR-10 augmentation (He et al. 2016, 4.2).
CROP_PADDING = 4
_PIXELS = (IMAGE_SIDE, IMAGE_SIDE, 3)


class ImageSetError(UserError):
    """An image file is missing, broken, or of another layout; the message names the file."""


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels."""

    name: str
    """Name of the file."""
    sha256: str
    """SHA-256 of the file."""
    x_train: np.ndarray
    """uint8 [images, side, side, 3]: training images."""
    y_train: np.ndarray
    """int64 [images]: labels of the training images."""
    x_test: np.ndarray
    """uint8 [images, side, side, 3]: test images; may be empty."""
    y_test: np.ndarray
    """int64 [images]: labels of the test images."""

    @property
    def side(self) -> int:
        """Pixels in a row of an image."""
        return int(self.x_train.shape[2])

    @property
    def classes(self) -> int:
        """Number of classes: as many as the training images' labels need, at least the ten of CIFAR-10."""
        return max(CIFAR_CLASSES, int(self.y_train.max(initial=0)) + 1)

    def normalised(self) -> tuple[np.ndarray, np.ndarray]:
        """Return training and test images, float32 [n, 3, side, side]; training channels have mean 0, deviation 1."""
        mean = self.x_train.mean((0, 1, 2)).astype(np.float32)
        # A channel of one value only is all zeros then, not a division by zero.
        deviation = np.maximum(self.x_train.std((0, 1, 2)), 1.0).astype(np.float32)
        train, test = (
            np.ascontiguousarray(((part - mean) / deviation).transpose(0, 3, 1, 2))
            for part in (self.x_train, self.x_test)
        )
        return train, test


def load_images(path: Path | str, classes: int) -> ImageSet:
    """Read `x_train`, `y_train` and, where present, `x_test`, `y_test` from an .npz.

    Raise ImageSetError, which names the file, what is expected and what was found.
    """
    path = Path(path)
    try:
        opened = np.load(path, allow_pickle=False)
        if isinstance(opened, np.ndarray):
            raise ImageSetError(f"{path}: expected an .npz with x_train and y_train, found a single array")
        with opened as file:
            stored = {key: file[key] for key in file.files if key in ("x_train", "y_train", "x_test", "y_test")}
            arrays = ", ".join(file.files)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError as error:
        raise ImageSetError(f"{path}: no such image file") from error
    except (UserError, MemoryError):
        raise
    except Exception as error:  # readers of archives raise all kinds on a damaged file
        raise ImageSetError(f"{path}: expected an .npz with x_train and y_train: {error}") from error
    if "x_train" not in stored or "y_train" not in stored:
        raise ImageSetError(f"{path}: expected the arrays x_train and y_train, found {arrays or 'none'}")
    if ("x_test" in stored) != ("y_test" in stored):
        raise ImageSetError(f"{path}: expected x_test and y_test, both or neither, found {arrays}")
    stored.setdefault("x_test", np.zeros((0, *_PIXELS), np.uint8))
    stored.setdefault("y_test", np.zeros(0, np.uint8))
    for part in ("train", "test"):
        images, labels = stored[f"x_{part}"], stored[f"y_{part}"]
        if images.dtype != np.uint8 or images.shape[1:] != _PIXELS:
            raise ImageSetError(
                f"{path}: x_{part}: expected uint8 [n, 32, 32, 3], found {images.dtype} {list(images.shape)}"
            )
        if labels.dtype.kind not in "iu" or labels.shape != images.shape[:1]:
            raise ImageSetError(
                f"{path}: y_{part}: expected {len(images)} integer labels, found {labels.dtype} {list(labels.shape)}"
            )
        if len(labels) and not 0 <= labels.min() <= labels.max() < classes:
            raise ImageSetError(
                f"{path}: y_{part}: expected labels 0 to {classes - 1}, found {labels.min()} to {labels.max()}"
            )
    return ImageSet(
        path.name, digest, stored["x_train"], stored["y_train"].astype(np.int64), stored["x_test"],
        stored["y_test"].astype(np.int64),
    )  # fmt: skip


def crop_and_flip(rng: np.random.Generator, images: int, side: int = IMAGE_SIDE) -> tuple[np.ndarray, np.ndarray]:
    """Draw random crops and horizontal flips as pixel positions in the padded image.

    Return rows [images, side, 1] and columns [images, 1, side], int64, each below side + 2 * CROP_PADDING.
    """
    steps = np.arange(side)
    top, left = rng.integers(0, 2 * CROP_PADDING + 1, (2, images, 1))
    flipped = rng.integers(0, 2, (images, 1)).astype(bool)
    rows = top + steps
    columns = left + np.where(flipped, steps[::-1], steps)
    return rows[:, :, None], columns[:, None, :]
