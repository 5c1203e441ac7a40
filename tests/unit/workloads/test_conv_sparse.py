"""Is sparse convolution right for windows and zeros of any kind, in any number of chunks, and is its work counted?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.host.untimed import execute
from isa.device_memory import DeviceMemory
from tests.support.operator_contract import compiled_only
from tests.unit.workloads.test_convolution import GPU, MEMORY_BYTES, convolutions
from workloads.operators import conv_sparse
from workloads.operators.conv_algorithms import ALGORITHMS, DENSE_ALGORITHMS, SPARSE_ALGORITHMS, algorithm
from workloads.operators.conv_sparse import EllpackDibForward, EllpackDibSoftwareForward
from workloads.operators.convolution import Convolution
from workloads.operators.primitive import build
from workloads.operators.verify import verify

PADDED = Convolution((4, 5, 6, 5), 7, (3, 3), padding=(1, 1, 1, 1))
Forward = type[EllpackDibForward] | type[EllpackDibSoftwareForward]


@st.composite
def maps(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    """Activations of any sparsity, some with images, channels or rows of zeros alone; FP16 does not hold them all."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    sparsity = draw(st.sampled_from((0.0, 0.3, 0.65, 0.95, 1.0)))
    x = random.standard_normal(shape, np.float32) * np.float32(10.0 ** draw(st.sampled_from((-7, 0, 3))))
    x *= random.random(shape) >= sparsity
    for axis in draw(st.sets(st.integers(0, 3))):
        emptied = [slice(None)] * 4
        emptied[axis] = slice(draw(st.integers(0, shape[axis] - 1)), None)
        x[tuple(emptied)] = -0.0
    return x


@compiled_only
@settings(max_examples=60)
@given(convolutions(), st.sampled_from((EllpackDibForward, EllpackDibSoftwareForward)), st.data())
def test_any_zeros_give_what_numpy_gives(c: Convolution, forward: Forward, data: st.DataObject) -> None:
    operator = build(forward(c, bias=True), DeviceMemory(MEMORY_BYTES), GPU, {"x": data.draw(maps(c.shape))})
    operator.outputs["y"][...] = np.nan
    stored = sum(execute(launch).store_bytes for launch in operator.launches)
    checked = verify(operator)
    assert checked.passed, checked.mismatches
    assert stored == operator.work.stored_bytes


@compiled_only
@pytest.mark.parametrize("forward", [EllpackDibForward, EllpackDibSoftwareForward])
def test_chunks_give_the_same(forward: Forward, monkeypatch: pytest.MonkeyPatch) -> None:
    found, counts = [], []
    whole = forward(PADDED, bias=True).workspace["columns"].size_bytes
    for limit in (whole, 3 * whole // 4, 1):
        monkeypatch.setattr(conv_sparse, "CHUNK_BYTES", limit)
        operator = build(forward(PADDED, bias=True), DeviceMemory(MEMORY_BYTES), GPU)
        assert operator.tensors["columns"].size_bytes <= max(limit, whole // 4)
        for launch in operator.launches:
            execute(launch)
        assert verify(operator).passed
        found.append(operator.outputs["y"].copy())
        counts.append(sum(launch.kernel.name == "im2col_columns" for launch in operator.launches))
    assert counts == [1, 2, 4]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@given(convolutions(), st.data())
def test_the_needed_work_is_a_multiplication_for_each_non_zero_and_filter(c: Convolution, data: st.DataObject) -> None:
    x = data.draw(maps(c.shape))
    windows = Convolution(c.shape, c.groups, c.kernel, c.stride, c.padding, c.dilation, c.groups)
    met = windows.forward((x != 0).astype(np.float64), np.ones(windows.weight.shape))  # non-zeros under each window
    work = EllpackDibForward(c).work_on({"x": x})
    assert work.needed_macs == c.group_filters * met.sum() <= c.needed_macs <= work.macs
    software = EllpackDibSoftwareForward(c).work_on({"x": x})
    lines = np.ceil(met / 16).sum()
    assert software.stored_bytes == work.stored_bytes + 4 * (16 * lines + met.size)


def test_values_are_those_of_a_bundle() -> None:
    """Rounded to FP16, nearest even; too large ones become infinite."""
    c = Convolution((1, 1, 1, 4), 1, (1, 1))
    x = np.array([2049.0, 1e-9, 7e4, -0.0], np.float32).reshape(c.shape)
    operator = build(EllpackDibForward(c), DeviceMemory(MEMORY_BYTES), GPU, {"x": x, "weight": np.ones((1, 1, 1, 1))})
    for launch in operator.launches:
        execute(launch)
    assert operator.outputs["y"].ravel().tolist() == [2048.0, 0.0, np.inf, 0.0]


def test_the_rows_say_how_they_take_the_activations() -> None:
    assert set(DENSE_ALGORITHMS) | set(SPARSE_ALGORITHMS) == set(ALGORITHMS)
    for name, regions in (("ellpack_dib", 1), ("ellpack_dib_software", 0)):
        row = algorithm(name, PADDED)
        operator = build(row.forward(PADDED), DeviceMemory(MEMORY_BYTES), GPU)
        assert sum(len(launch.regions) for launch in operator.launches) == regions
        assert row.sparse and name in operator.name and operator.primitive.skips_zeros_of == ("x",)
        assert "(implicit)" in row.backward_data(PADDED).name and "(implicit)" in row.backward_weights(PADDED).name


@pytest.mark.parametrize(
    ("c", "part"),
    [
        (Convolution((1, 8192, 3, 3), 1, (3, 3)), "73728 weights of a filter; allowed are at most 65535"),
        (Convolution((1, 1024, 1 << 11, 1 << 11), 1, (1, 1)), "an image's planes have 17179869184 bytes"),
        (Convolution((1, 64, 1 << 11, 1 << 11), 1, (5, 5)), "im2col of an image has"),
        (Convolution((1, 1, 1 << 11, 1 << 11), 512, (1, 1)), "an image's results have"),
        (Convolution((1, 1 << 15, 1, 1), 1 << 15, (1, 1)), "a group's filters have"),
    ],
)
def test_what_cannot_be_is_refused_by_name(c: Convolution, part: str) -> None:
    for name in SPARSE_ALGORITHMS:
        with pytest.raises(UserError, match=f"algorithm '{name}'") as caught:
            algorithm(name, c)
        assert part in str(caught.value)
        with pytest.raises(UserError):
            ALGORITHMS[name].forward(c)
