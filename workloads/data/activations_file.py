"""Activation files: the input feature maps of one convolutional layer, stored compactly with how they were made.

One `.npz` (zlib) holds the zero pattern as one bit an element, the non-zero values as FP16, and a JSON text.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.files import folder, write_whole
from gpusim.base.formats import FIXED_6, GENERAL

FORMAT_VERSION = 1
_KEYS = ("format_version", "mask", "metadata", "shape", "values")
_DTYPES = {"format_version": "integer", "mask": "uint8", "metadata": "text", "shape": "integer", "values": "float16"}
_AXES = "[images, channels, height, width]"
# A file of two billion elements is no set of activation maps: refuse it before memory is asked for.
_ELEMENTS_MAX = 1 << 31


class ActivationFileError(UserError):
    """An activation file is missing or broken, or does not fit; the message names the file."""


@dataclass(frozen=True)
class Activations:
    """Input feature maps of one layer."""

    array: np.ndarray
    """float32 [images, channels, height, width]: values that are exact in FP16."""
    metadata: Mapping[str, Any]
    """Origin of the maps."""
    path: Path
    """Path of the file."""

    @property
    def sparsity(self) -> float:
        """Zero elements / elements."""
        return sparsity_of(self.array)

    def first_images(self, images: int, channels: int, height: int, width: int) -> np.ndarray:
        """Return the maps of the first `images` images, checked against the layer that wants them.

        They are a float32 view [images, channels, height, width]; raise ActivationFileError when the file holds fewer
        images or maps of another shape.
        """
        shape = self.array.shape
        if shape[1:] != (channels, height, width):
            raise ActivationFileError(
                f"{self.path}: the layer needs maps of [channels, height, width] = [{channels}, {height}, {width}], "
                f"found [{', '.join(map(str, shape[1:]))}]"
            )
        if shape[0] < images:
            raise ActivationFileError(f"{self.path}: the batch needs {images} images, found {shape[0]}")
        return self.array[:images]


def sparsity_of(array: np.ndarray) -> float:
    """Return zero elements / elements; -0 counts as zero."""
    return float(1.0 - np.count_nonzero(array) / array.size)


def save_activations(path: Path, array: np.ndarray, metadata: Mapping[str, Any]) -> None:
    """Write maps [images, channels, height, width] to `path`; `sparsity` is measured and added to the metadata.

    Values are rounded to the nearest FP16. A non-zero too small for FP16 becomes the smallest FP16 of its sign, so that
    the zero pattern stays that of the FP32 maps. A file at `path` is replaced only when the whole new one was written.

    Args:
        path: Path of the file.
        array: FP32 maps [images, channels, height, width].
        metadata: What the file says of them.

    Raises:
        ActivationFileError: The format cannot hold them.
        UserError: The output cannot be written.
    """
    if array.ndim != 4 or array.size == 0:
        raise ActivationFileError(f"{path}: expected maps of {_AXES}, found shape {list(array.shape)}")
    if array.size > _ELEMENTS_MAX:
        raise ActivationFileError(f"{path}: {array.size} elements, at most {_ELEMENTS_MAX} are allowed")
    nonzero = array != 0
    values = array[nonzero]
    largest = float(np.finfo(np.float16).max)
    # A NaN fails the comparison too.
    if not (np.abs(values) <= largest).all():
        raise ActivationFileError(
            f"{path}: maps hold a value that is not finite or above {GENERAL(largest)}, the FP16 maximum"
        )
    halves = values.astype(np.float16)
    tiny = halves == 0
    halves[tiny] = np.copysign(np.finfo(np.float16).smallest_subnormal, values[tiny])
    described = {**metadata, "sparsity": sparsity_of(array)}
    try:
        text = json.dumps(described, allow_nan=False, indent=1)
    except (TypeError, ValueError) as error:
        raise ActivationFileError(f"{path}: the metadata is not JSON: {error}") from error
    content = io.BytesIO()
    np.savez_compressed(
        content,
        format_version=np.int64(FORMAT_VERSION),
        mask=np.packbits(nonzero.reshape(-1)),
        metadata=np.array(text),
        shape=np.array(array.shape, dtype=np.int64),
        values=halves,
    )
    folder(path.parent)
    write_whole(path, content.getvalue())


def load_activations(path: Path | str) -> Activations:
    """Read an activation file.

    Raise ActivationFileError, which names the file, what is expected and what was found, when the file is missing, is
    no activation file, has another format version, or is inconsistent.
    """
    path = Path(path)
    fields = _read_fields(path)
    version = int(fields["format_version"])
    if version != FORMAT_VERSION:
        raise ActivationFileError(f"{path}: expected format version {FORMAT_VERSION}, found {version}")
    shape = fields["shape"]
    if shape.shape != (4,) or (shape < 1).any():
        raise ActivationFileError(f"{path}: 'shape': expected {_AXES}, each at least 1, found {shape.tolist()}")
    sizes: tuple[int, ...] = tuple(int(size) for size in shape)
    elements = sizes[0] * sizes[1] * sizes[2] * sizes[3]
    if elements > _ELEMENTS_MAX:
        raise ActivationFileError(f"{path}: 'shape': {elements} elements, at most {_ELEMENTS_MAX} are allowed")
    mask, values = fields["mask"], fields["values"]
    mask_bytes = -(-elements // 8)
    if mask.shape != (mask_bytes,):
        raise ActivationFileError(
            f"{path}: 'mask': expected {mask_bytes} bytes for maps of {list(sizes)}, found shape {list(mask.shape)}"
        )
    nonzero = np.unpackbits(mask, count=elements).astype(bool)
    count = int(np.count_nonzero(nonzero))
    if values.shape != (count,):
        raise ActivationFileError(
            f"{path}: 'values': expected {count} values, one a set bit of the mask, found shape {list(values.shape)}"
        )
    if not np.isfinite(values).all() or (values == 0).any():
        raise ActivationFileError(f"{path}: 'values': expected finite non-zero values, found others")
    array = np.zeros(elements, dtype=np.float32)
    array[nonzero] = values
    metadata = _read_metadata(path, str(fields["metadata"]))
    array = array.reshape(sizes)
    if not abs(metadata["sparsity"] - sparsity_of(array)) <= 1e-9:  # NaN fails, too
        raise ActivationFileError(
            f"{path}: the metadata says sparsity {FIXED_6(metadata['sparsity'])}, the maps have "
            f"{FIXED_6(sparsity_of(array))}"
        )
    return Activations(array, metadata, path)


def _read_fields(path: Path) -> dict[str, np.ndarray]:
    """Read every array of the file; raise ActivationFileError for missing ones, and for wrong types of elements."""
    try:
        if path.is_dir():
            raise ActivationFileError(f"{path}: expected an activation file (.npz), found a folder")
        if path.exists() and not path.is_file():
            raise ActivationFileError(f"{path}: expected an activation file (.npz), found a device or a pipe")
        with zipfile.ZipFile(path) as archive:
            stored = {name.removesuffix(".npy") for name in archive.namelist()}
        missing = [key for key in _KEYS if key not in stored]
        if missing:
            raise ActivationFileError(
                f"{path}: expected the arrays {', '.join(_KEYS)}; "
                f"missing {', '.join(missing)}, found {', '.join(sorted(stored)) or 'none'}"
            )
        with np.load(path, allow_pickle=False) as file:
            fields = {key: file[key] for key in _KEYS}
    except FileNotFoundError as error:
        raise ActivationFileError(f"{path}: no such activation file") from error
    except zipfile.BadZipFile as error:
        raise ActivationFileError(
            f"{path}: expected an activation file (.npz), found something else: {error}"
        ) from error
    except (UserError, MemoryError):
        raise
    except Exception as error:  # readers of archives raise all kinds on a damaged file
        raise ActivationFileError(f"{path}: cannot be read: {error}") from error
    for key, array in fields.items():
        if not _is_kind(array, _DTYPES[key]):
            raise ActivationFileError(f"{path}: '{key}': expected {_DTYPES[key]}, found {array.dtype}")
    for key in ("format_version", "metadata"):
        if fields[key].ndim:
            raise ActivationFileError(f"{path}: '{key}': expected one value, found shape {list(fields[key].shape)}")
    return fields


def _is_kind(array: np.ndarray, kind: str) -> bool:
    if kind == "integer":
        return array.dtype.kind in "iu"
    return array.dtype.kind == "U" if kind == "text" else array.dtype == np.dtype(kind)


def _read_metadata(path: Path, text: str) -> dict[str, Any]:
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ActivationFileError(f"{path}: 'metadata': expected JSON: {error}") from error
    if not isinstance(metadata, dict) or not isinstance(metadata.get("sparsity"), float):
        raise ActivationFileError(f"{path}: 'metadata': expected a JSON object with the measured 'sparsity'")
    return metadata
