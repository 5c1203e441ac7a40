"""Labelled photographs for training: a folder or a .zip of image files, cut to squares of 224 x 224.

Reading them needs Pillow, which is imported when a capture starts, and only then.
"""

import hashlib
import importlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gpusim.base.errors import MissingExtraError
from gpusim.lab.capture.image_set import ImageSet, ImageSetError

SIDE = 224  # the networks' input (Krizhevsky 2012, Simonyan and Zisserman 2015, He et al. 2016)
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
IMAGES_MAX = 100_000  # 14 GB of pixels


def load_photographs(path: Path | str) -> ImageSet:
    """Read every image of a folder (subfolders included) or a .zip, in the order of names; none is a test image.

    A class is the name of the innermost folder below `path` that an image is in; where all lie in one, the file's name
    up to the first '_' ('n01440764_tench.jpg': n01440764). Classes are numbered in the order of their names. An image
    is scaled so that its shorter side is 224 pixels, and its middle is taken. Raise ImageSetError, which names the
    file.
    """
    path = Path(path)
    try:
        pil = importlib.import_module("PIL.Image")
    except ImportError as error:
        raise MissingExtraError("gpusim capture (image files)", "capture") from error
    digest = hashlib.sha256()
    names: list[PurePosixPath] = []
    pixels: list[np.ndarray] = []
    for name, content in _files(path):
        if len(names) == IMAGES_MAX:
            raise ImageSetError(f"{path}: more than {IMAGES_MAX} images")
        digest.update(name.encode() + b"\0" + content)
        names.append(PurePosixPath(name))
        pixels.append(_square(pil, path, name, content))
    if not names:
        raise ImageSetError(f"{path}: no image in it; image files end in {', '.join(SUFFIXES)}")
    labels = _labels(names)
    empty = np.zeros((0, SIDE, SIDE, 3), np.uint8)
    return ImageSet(path.name, digest.hexdigest(), np.stack(pixels), labels, empty, np.zeros(0, np.int64))


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name below `path`, with '/', and the content of each image file."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.suffix.lower() in SUFFIXES and file.is_file():
                yield file.relative_to(path).as_posix(), file.read_bytes()
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if PurePosixPath(name).suffix.lower() in SUFFIXES:
                    yield name, archive.read(name)
    except FileNotFoundError as error:
        raise ImageSetError(f"{path}: no such file or folder") from error
    except (zipfile.BadZipFile, OSError) as error:
        raise ImageSetError(f"{path}: expected a folder or a .zip of image files: {error}") from error


def _square(pil: Any, path: Path, name: str, content: bytes) -> np.ndarray:
    """Decode an image and cut it to uint8 [224, 224, 3]."""
    try:
        with pil.open(io.BytesIO(content)) as opened:
            image = opened.convert("RGB")
    except Exception as error:  # decoders raise all kinds on a damaged file
        raise ImageSetError(f"{path}: {name}: cannot be read as an image: {error}") from error
    scale = SIDE / min(image.size)
    if scale != 1:
        image = image.resize(tuple(max(SIDE, round(side * scale)) for side in image.size))
    left, top = ((side - SIDE) // 2 for side in image.size)
    return np.asarray(image.crop((left, top, left + SIDE, top + SIDE)), np.uint8)


def _labels(names: list[PurePosixPath]) -> np.ndarray:
    """Return the number of each image's class, int64 [images]."""
    folders = [name.parent.name for name in names]
    classes = folders if len(set(folders)) > 1 else [name.stem.partition("_")[0] for name in names]
    numbers = {name: number for number, name in enumerate(sorted(set(classes)))}
    if len(numbers) < 2:
        raise ImageSetError(
            f"all images are of one class, '{classes[0]}': put those of a class into a folder of its name"
        )
    return np.array([numbers[name] for name in classes], np.int64)
