"""Activation files: what is written is what is read, and a broken file is distinguished from a good one."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpusim.base.errors import UserError
from workloads.data.activations_file import ActivationFileError, load_activations, save_activations

MAPS = np.array([0.0, 1.5, -2.0, 0.0, 0.25, 0.0], dtype=np.float32).reshape(1, 3, 1, 2)
SHAPES = hnp.array_shapes(min_dims=4, max_dims=4, min_side=1, max_side=5)
VALUES = st.one_of(st.just(0.0), st.just(-0.0), st.floats(-65504, 65504, width=32))


def rewritten(path: Path, **changed: object) -> Path:
    """A valid file with some arrays replaced (None: left out)."""
    save_activations(path, MAPS, {})
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    arrays.update(changed)
    np.savez_compressed(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


@settings(max_examples=60, deadline=None)
@given(array=hnp.arrays(np.float32, SHAPES, elements=VALUES))
def test_round_trip_keeps_the_zero_pattern_and_rounds_to_fp16(array, tmp_path_factory):
    path = tmp_path_factory.mktemp("maps") / "maps.npz"
    save_activations(path, array, {"model": "any"})
    loaded = load_activations(path)
    assert loaded.array.dtype == np.float32 and loaded.array.shape == array.shape
    assert ((loaded.array == 0) == (array == 0)).all()
    zeros = sum(1 for value in array.reshape(-1).tolist() if value == 0)
    assert loaded.sparsity == pytest.approx(zeros / array.size, abs=1e-12)
    assert loaded.metadata == {"model": "any", "sparsity": loaded.sparsity}
    for stored, given_value in zip(loaded.array.reshape(-1), array.reshape(-1), strict=True):
        nearest = float(np.float16(given_value))
        if nearest or not given_value:
            assert stored == nearest
        else:
            assert stored == np.copysign(np.float32(2.0**-24), given_value)


def test_all_zero_maps_round_trip(tmp_path):
    save_activations(tmp_path / "zero.npz", np.zeros((2, 3, 4, 5), np.float32), {})
    loaded = load_activations(tmp_path / "zero.npz")
    assert loaded.sparsity == 1.0 and not loaded.array.any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 65536.0])
def test_values_outside_fp16_are_refused_and_the_old_file_stays(tmp_path, value):
    path = tmp_path / "maps.npz"
    save_activations(path, MAPS, {})
    with pytest.raises(ActivationFileError, match=r"maps\.npz.*FP16"):
        save_activations(path, np.full((1, 1, 1, 1), value, np.float32), {})
    assert (load_activations(path).array == MAPS).all()


def test_maps_of_wrong_dimensions_and_unwritable_output_are_refused(tmp_path):
    with pytest.raises(ActivationFileError, match=r"found shape \[3, 2\]"):
        save_activations(tmp_path / "maps.npz", np.ones((3, 2), np.float32), {})
    with pytest.raises(ActivationFileError, match="not JSON"):
        save_activations(tmp_path / "maps.npz", MAPS, {"made": object()})
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        save_activations(tmp_path / "file" / "maps.npz", MAPS, {})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mask": None}, "missing mask, found format_version, metadata, shape, values"),
        ({"format_version": np.int64(9)}, "expected format version 1, found 9"),
        ({"format_version": np.array([1, 1])}, "'format_version': expected one value, found shape [2]"),
        ({"values": np.ones(3, np.float32)}, "'values': expected float16, found float32"),
        ({"values": np.ones(2, np.float16)}, "expected 3 values, one a set bit of the mask, found shape [2]"),
        ({"values": np.array([1, 0, 1], np.float16)}, "expected finite non-zero values"),
        ({"values": np.array([1, np.nan, 1], np.float16)}, "expected finite non-zero values"),
        ({"mask": np.zeros(2, np.uint8)}, "'mask': expected 1 bytes for maps of [1, 3, 1, 2], found shape [2]"),
        ({"shape": np.array([3, 2])}, "expected [images, channels, height, width], each at least 1, found [3, 2]"),
        ({"shape": np.array([1, 3, 0, 2])}, "each at least 1, found [1, 3, 0, 2]"),
        ({"shape": np.array([1 << 20, 1 << 20, 1, 1])}, "at most 2147483648 are allowed"),
        ({"metadata": np.array("{")}, "'metadata': expected JSON"),
        ({"metadata": np.array("[" * 100_000)}, "'metadata': expected JSON"),
        ({"metadata": np.array('{"sparsity": NaN}')}, "the metadata says sparsity nan, the maps have 0.500000"),
        ({"metadata": np.array("[]")}, "expected a JSON object with the measured 'sparsity'"),
        ({"metadata": np.array('{"sparsity": 0.9}')}, "the metadata says sparsity 0.900000, the maps have 0.500000"),
    ],
)
def test_inconsistent_files_are_told(tmp_path, changed, message):
    path = rewritten(tmp_path / "maps.npz", **changed)
    with pytest.raises(ActivationFileError) as caught:
        load_activations(path)
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)


def test_missing_folder_and_foreign_files_are_told(tmp_path):
    with pytest.raises(ActivationFileError, match=r"none\.npz: no such activation file"):
        load_activations(tmp_path / "none.npz")
    with pytest.raises(ActivationFileError, match="found a folder"):
        load_activations(tmp_path)
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(ActivationFileError, match="expected an activation file"):
        load_activations(tmp_path / "text.npz")
    np.save(tmp_path / "array.npy", MAPS)
    with pytest.raises(ActivationFileError, match="expected an activation file"):
        load_activations(tmp_path / "array.npy")
    np.savez(tmp_path / "other.npz", x_train=MAPS)
    with pytest.raises(ActivationFileError, match="found x_train"):
        load_activations(tmp_path / "other.npz")
    np.savez(tmp_path / "pickled.npz", **{key: np.array([None]) for key in ("shape", "values", "mask")},
             format_version=1, metadata="{}")  # fmt: skip
    with pytest.raises(ActivationFileError, match="cannot be read"):
        load_activations(tmp_path / "pickled.npz")


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_truncated_and_damaged_files_are_told(tmp_path, kept):
    path = tmp_path / "maps.npz"
    rng = np.random.default_rng(1)
    save_activations(path, rng.random((4, 16, 4, 4), np.float32), {})
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(ActivationFileError):
        load_activations(path)
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(byte ^ 0xFF for byte in whole[middle : middle + 64]) + whole[middle + 64 :])
    with pytest.raises(ActivationFileError):
        load_activations(path)


def test_first_images_checks_the_layer(tmp_path):
    path = tmp_path / "maps.npz"
    array = np.arange(4 * 3 * 2 * 2, dtype=np.float32).reshape(4, 3, 2, 2)
    save_activations(path, array, {})
    loaded = load_activations(path)
    assert (loaded.first_images(2, 3, 2, 2) == array[:2]).all()
    with pytest.raises(ActivationFileError, match=r"maps\.npz: the batch needs 5 images, found 4"):
        loaded.first_images(5, 3, 2, 2)
    with pytest.raises(ActivationFileError, match=r"= \[3, 4, 4\], found \[3, 2, 2\]"):
        loaded.first_images(2, 3, 4, 4)


def test_metadata_is_readable_without_this_project(tmp_path):
    save_activations(tmp_path / "maps.npz", MAPS, {"model": "any"})
    with np.load(tmp_path / "maps.npz") as file:
        assert json.loads(str(file["metadata"])) == {"model": "any", "sparsity": 0.5}
