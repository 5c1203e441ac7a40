"""Are arguments of `gpusim exec` what their descriptions say, and are results compared within the bounds given?"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim.base.errors import UserError
from gpusim.config.exec import ArgumentSpec
from gpusim.jobs.arguments import build_argument, fill_in_types, load_expected
from isa.object.code_object import load_code_object

HERE = Path("exec.yaml")
SMALL = gpusim.GpuSpec.model_validate({"shader_arrays": 1, "cus_per_array": 2, "memory_mib": 16})
MANY = 4000


def random(kind: str, dtype: str = "float32", **values: Any) -> np.ndarray:
    spec = ArgumentSpec(random=kind, dtype=dtype, shape=(MANY,), **values)  # type: ignore[arg-type]
    return np.array(build_argument(gpusim.Device(SMALL, timing=False, quiet=True), "a", spec, HERE))


def test_whole_numbers_are_from_the_lowest_to_the_one_before_the_end() -> None:
    found = random("integers", "int16", low=-2, high=3)
    assert found.dtype == np.int16 and set(found) == {-2, -1, 0, 1, 2}


def test_uniform_numbers_fill_their_range() -> None:
    found = random("uniform", low=-3, high=1)
    counts, _ = np.histogram(found, 4, (-3, 1))  # what lies outside is counted nowhere
    assert counts.sum() == MANY and (abs(counts - MANY / 4) < 5 * (MANY * 3 / 16) ** 0.5).all()


def test_normal_numbers_have_mean_0_and_deviation_1_whatever_the_range() -> None:
    found = random("normal", low=5, high=6).astype(np.float64)
    assert abs(found.mean()) < 5 / MANY**0.5 and abs(found.std() - 1) < 5 / (2 * MANY) ** 0.5


@pytest.mark.parametrize("kind", ["integers", "uniform", "normal"])
def test_the_seed_decides(kind: str) -> None:
    first, same, other = (random(kind, high=1000, seed=seed) for seed in (7, 7, 8))
    assert (first == same).all() and not (first == other).all()


def test_what_is_allowed_is_the_absolute_difference_and_the_part_of_the_expected_value(tmp_path: Path) -> None:
    wanted = np.array([0, -10, np.nan, 1e30], np.float32)
    np.save(tmp_path / "wanted.npy", wanted)
    file = tmp_path / "exec.yaml"
    spec = ArgumentSpec(
        fill=1, dtype="float32", shape=(4,), expected=str(tmp_path / "wanted.npy"), absolute=0.5, relative=0.01
    )
    found = load_expected(build_argument(gpusim.Device(SMALL, timing=False, quiet=True), "a", spec, file), spec, file)
    np.testing.assert_array_equal(found.value, wanted)
    np.testing.assert_allclose(found.bound, [0.5, 0.6, 0.5, 1e28], rtol=1e-6)


def test_images_are_filled_as_arrays_are(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(24, dtype=np.float16).reshape(3, 4, 2))
    device = gpusim.Device(SMALL, timing=False, quiet=True)
    given = {
        "npy": {"npy": str(tmp_path / "x.npy")},
        "fill": {"fill": 7, "dtype": "uint8", "shape": (3, 4, 2), "fractions": True},
        "random": {"random": "integers", "high": 9, "dtype": "int16", "shape": (3, 4, 2)},
    }
    for values in given.values():
        array, image = (
            build_argument(device, "a", ArgumentSpec(**{**values, **more}), HERE)  # type: ignore[arg-type]
            for more in ({"fractions": False}, {"image": "2d"})
        )
        assert isinstance(image, gpusim.DeviceImage)
        np.testing.assert_array_equal(image, array)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"value": 1, "dtype": "int32", "image": "2d"}, "only an array is an image"),
        ({"fill": 1, "dtype": "int32", "shape": (4,), "fractions": True}, "only an image has fractions"),
        ({"sampler": {"address": "repeat"}}, "repeat needs normalized coordinates"),
        ({"sampler": {}, "null": True}, "given: sampler, null"),
        ({"sampler": {}, "expected": 1}, "only an array has an expected content"),
        ({"npy": "x.npy", "image": "1d_buffer"}, "'2d_array'"),
    ],
)
def test_what_goes_together(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArgumentSpec(**values)


BASIC = Path(__file__).parents[2] / "data/isa/basic_clang19_v5.hsaco"  # its metadata has types, but no names


def test_types_that_are_left_out_are_those_of_the_code_object() -> None:
    kernel = load_code_object(BASIC).kernels["calls"]  # float *, double, long
    given = {
        "x": ArgumentSpec(fill=1, shape=(4,)),
        "y": ArgumentSpec(value=2.5),
        "z": ArgumentSpec(value=3, dtype="uint64"),
    }
    typed = fill_in_types(kernel, given, HERE)
    assert {name: spec.dtype for name, spec in typed.items()} == {"x": "float32", "y": "float64", "z": "uint64"}
    with pytest.raises(UserError, match=r"exec.yaml: arguments.w: dtype is required: the code object has no such"):
        fill_in_types(kernel, {**given, "w": ArgumentSpec(value=3)}, HERE)
    local = load_code_object(BASIC).kernels["reverse"]  # float *, float *, __local float *
    with pytest.raises(UserError, match=r"arguments.d: dtype is required"):
        fill_in_types(local, {**dict.fromkeys("ab", ArgumentSpec(null=True)), "c": ArgumentSpec(local_bytes=4),
                              "d": ArgumentSpec(value=1)}, HERE)  # fmt: skip
