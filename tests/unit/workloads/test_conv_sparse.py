"""Is sparse convolution right for windows and zeros of any kind, in any number of chunks, and is its work counted?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.jobs.host.command_processor import execute
from isa.device_memory import DeviceMemory
from tests.support.daily import given_daily, parametrize_daily
from tests.support.operator_contract import compiled_only
from tests.unit.workloads.test_convolution import GPU, MEMORY_BYTES, convolutions
from workloads.operators import conv_sparse
from workloads.operators.conv_algorithms import ALGORITHMS, DENSE_ALGORITHMS, SPARSE_ALGORITHMS, algorithm
from workloads.operators.conv_sparse import (
    SPARSE_FORWARD,
    EllpackDibForward,
    EllpackDibFusedForward,
    EllpackDibRegistersForward,
    EllpackDibSoftwareForward,
    EllpackDibSoftwareRegistersForward,
)
from workloads.operators.conv_sparse_maps import (
    IMPLICIT_SPARSE_FORWARD,
    EllpackDibImplicitForward,
    EllpackDibSoftwareImplicitForward,
    ImplicitSparseForward,
)
from workloads.operators.conv_sparse_weight_parts import (
    PADDING_FREE_SPARSE_WEIGHTS,
    EllpackDibPaddingFreeBackwardWeights,
    EllpackDibSoftwarePaddingFreeBackwardWeights,
)
from workloads.operators.conv_sparse_weights import (
    WINDOW_SPARSE_WEIGHTS,
    EllpackDibFusedBackwardWeights,
    EllpackDibRegistersBackwardWeights,
    SparseBackwardWeights,
)
from workloads.operators.convolution import Convolution
from workloads.operators.primitive import build
from workloads.operators.verify import verify

PADDED = Convolution((4, 5, 6, 5), 7, (3, 3), padding=(1, 1, 1, 1))
DEEP = Convolution((4, 128, 5, 6), 14, (3, 3), (2, 1), padding=(1, 1, 1, 1), groups=2)  # 64 x 9 weights of a filter
Forward = type[EllpackDibForward | EllpackDibSoftwareForward | EllpackDibRegistersForward | EllpackDibFusedForward]
IN_REGISTERS = (
    *(EllpackDibRegistersForward, EllpackDibSoftwareRegistersForward, EllpackDibFusedForward),
    *IMPLICIT_SPARSE_FORWARD,
)
ANY_DEPTH = (
    *(EllpackDibForward, EllpackDibSoftwareForward, EllpackDibFusedForward, EllpackDibSoftwareImplicitForward),
)


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
@given_daily(12, 60, convolutions(), st.sampled_from(ANY_DEPTH), st.data())
def test_any_zeros_give_what_numpy_gives(c: Convolution, forward: Forward, data: st.DataObject) -> None:
    operator = build(forward(c, bias=True), DeviceMemory(MEMORY_BYTES), GPU, {"x": data.draw(maps(c.shape))})
    operator.outputs["y"][...] = np.nan
    stored = sum(execute(launch).store_bytes for launch in operator.launches)
    checked = verify(operator)
    assert checked.passed, checked.mismatches
    assert stored == operator.work.stored_bytes


@compiled_only
@pytest.mark.parametrize("forward", IN_REGISTERS)
@pytest.mark.parametrize("sparsity", [0.0, 0.7, 1.0])
def test_filters_in_registers(sparsity: float, forward: Forward) -> None:
    """In groups and with a depth of several blocks, in parts of sums, in memory that others used before."""
    x = np.random.default_rng(3).standard_normal(DEEP.shape, np.float32)
    x *= np.random.default_rng(4).random(DEEP.shape) >= sparsity
    operator = build(forward(DEEP, bias=True), DeviceMemory(MEMORY_BYTES), GPU, {"x": x})
    for name in {"y", "columns", "products", "filters", "parts"} & set(operator.tensors):
        operator.tensors[name].array[...] = np.nan
    assert sum(launch.kernel.name == "sum_parts" for launch in operator.launches) == DEEP.groups
    stored = sum(execute(launch).store_bytes for launch in operator.launches)
    assert verify(operator).passed and stored == operator.work.stored_bytes


@compiled_only
@pytest.mark.parametrize(
    ("forward", "c"),
    [
        *((forward, PADDED) for forward in ANY_DEPTH),
        *((forward, DEEP) for forward in IN_REGISTERS),
    ],
)
def test_chunks_give_the_same(forward: Forward, c: Convolution, monkeypatch: pytest.MonkeyPatch) -> None:
    found, counts = [], []
    held = "bundles" if forward.fused or forward is EllpackDibSoftwareImplicitForward else "columns"
    whole = forward(c, bias=True).workspace[held].size_bytes
    for limit in (whole, 3 * whole // 4, 1):
        monkeypatch.setattr(conv_sparse, "CHUNK_BYTES", limit)
        operator = build(forward(c, bias=True), DeviceMemory(MEMORY_BYTES), GPU)
        assert operator.tensors[held].size_bytes <= max(limit, whole // 4)
        stored = sum(execute(launch).store_bytes for launch in operator.launches)
        assert verify(operator).passed and stored == operator.work.stored_bytes
        found.append(operator.outputs["y"].copy())
        counts.append(sum(launch.kernel.name.startswith(("im2col_", "maps_")) for launch in operator.launches))
    assert counts == [c.groups * chunks for chunks in (1, 2, 4)]
    for other in found[1:] if forward not in IN_REGISTERS else ():  # whose sums come in other parts, within the bounds
        np.testing.assert_array_equal(found[0], other)


@compiled_only
@given_daily(6, 12, convolutions(), st.data())
def test_gradients_of_weights_are_what_numpy_gives(c: Convolution, data: st.DataObject) -> None:
    _check_gradients(EllpackDibFusedBackwardWeights(c), data.draw(maps(c.shape)))


@compiled_only
@pytest.mark.parametrize("made", WINDOW_SPARSE_WEIGHTS)
@pytest.mark.parametrize("sparsity", [0.0, 0.7, 1.0])
def test_gradients_of_weights_in_chunks_and_groups(
    sparsity: float, made: type[SparseBackwardWeights], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk of both images, and one of each, whose products are added up."""
    c = Convolution((2, 16, 8, 8), 14, (3, 3), padding=(1, 1, 1, 1), groups=2)
    x = np.random.default_rng(3).standard_normal(c.shape, np.float32)
    x *= np.random.default_rng(4).random(c.shape) >= sparsity
    for limit, chunks in ((1 << 28, 1), (1, 2)):
        monkeypatch.setattr(conv_sparse, "CHUNK_BYTES", limit)
        launches = _check_gradients(made(c), x)
        assert sum(name.startswith("im2col_weight") for name in launches) == c.groups * chunks
        assert launches[-2:] == (["sum_parts", "transpose"] if chunks > 1 else launches[-2:])


@compiled_only
@given_daily(6, 12, convolutions(), st.data())
def test_padding_free_gradients_of_weights_are_what_numpy_gives(c: Convolution, data: st.DataObject) -> None:
    made = EllpackDibSoftwarePaddingFreeBackwardWeights
    if not made.refuses(c):
        _check_gradients(made(c), data.draw(maps(c.shape)))


@compiled_only
@parametrize_daily(
    "sparsity, made", [(zeros, made) for made in PADDING_FREE_SPARSE_WEIGHTS for zeros in (0.7, 0.0, 1.0)], (0, 1, 3, 5)
)
def test_padding_free_gradients_in_chunks_and_groups(
    sparsity: float, made: type[SparseBackwardWeights], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk of all channels of a group, and one of each; the sums are over images, whole blocks of them."""
    c = Convolution((64, 6, 5, 4), 14, (3, 2), (2, 1), padding=(1, 1, 1, 1), dilation=(1, 2), groups=2)
    x = np.random.default_rng(3).standard_normal(c.shape, np.float32)
    x *= np.random.default_rng(4).random(c.shape) >= sparsity
    for limit, chunks in ((1 << 28, 1), (1, 3)):
        monkeypatch.setattr(conv_sparse, "CHUNK_BYTES", limit)
        launches = _check_gradients(made(c), x)
        assert sum(name.startswith("image_") for name in launches) == c.groups * chunks


def test_windows_that_leave_a_row_over_are_refused() -> None:
    made = EllpackDibSoftwarePaddingFreeBackwardWeights
    assert "1 rows at the planes' end that no window meets" in made.refuses(
        Convolution((2, 3, 8, 8), 4, (1, 1), (2, 2))
    )
    assert "multiples of 64" in EllpackDibPaddingFreeBackwardWeights.refuses(PADDED) and not made.refuses(PADDED)


def _check_gradients(primitive: SparseBackwardWeights, x: np.ndarray) -> list[str]:
    """Run it in memory that others used before; compare results and what is stored. Returns its kernels."""
    operator = build(primitive, DeviceMemory(MEMORY_BYTES), GPU, {"x": x})
    for name in [*operator.primitive.workspace, "dweight"]:
        array = operator.tensors[name].array
        array[...] = np.nan if array.dtype == np.float32 else 0xFFFFFFFF
    stored = sum(execute(launch).store_bytes for launch in operator.launches)
    checked = verify(operator)
    assert checked.passed, checked.mismatches
    assert stored == operator.work.stored_bytes
    return [launch.kernel.name for launch in operator.launches]


def test_the_engine_takes_whole_blocks_of_windows() -> None:
    with pytest.raises(UserError, match="120 windows of 4 images; allowed are multiples of 64"):
        EllpackDibRegistersBackwardWeights(PADDED)


def test_an_estimate_falls_with_zeros_and_knows_padding() -> None:
    padded, plain = (Convolution((8, 64, 8, 8), 256, (3, 3), padding=(n, n, n, n)) for n in (1, 0))
    assert conv_sparse.inside(plain) == 1.0 and conv_sparse.inside(padded) == pytest.approx((22 / 24) ** 2)
    for primitive in (EllpackDibFusedForward(padded), EllpackDibFusedBackwardWeights(padded)):
        dense, half, none = (primitive.estimated_cycles(zeros, GPU) for zeros in (0.0, 0.5, 1.0))
        assert dense > half > none > 0


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


def test_bundles_of_blocks_in_closed_form() -> None:
    """Two windows of two groups, 64 x 9 weights each: a line a block at the least, no matrix, and a count a block."""
    c = Convolution((1, 128, 3, 4), 2, (3, 3), groups=2)
    x = np.zeros(c.shape, np.float32)
    x[0, 0] = 1  # nine weights of the first block
    x[0, 64:] = 1  # all of the second group
    lines = 2 * (9 * 1) + 2 * (9 * 4)
    dense, fused = EllpackDibRegistersForward(c).work_on({"x": x}), EllpackDibFusedForward(c).work_on({"x": x})
    assert fused.needed_macs == dense.needed_macs == 2 * (9 + 576)
    assert fused.stored_bytes == dense.stored_bytes - 4 * 2 * 2 * 576 + 4 * (16 * lines + 2 * 2 * 9)


@compiled_only
@parametrize_daily(
    "filters, made", [(filters, made) for made in IMPLICIT_SPARSE_FORWARD for filters in (300, 128, 64)], (0, 1, 3, 5)
)
def test_windows_find_the_maps(filters: int, made: type[ImplicitSparseForward]) -> None:
    """Tiles of each height, two blocks of a pixel in places for three, uneven padding, strides, taps that are apart."""
    c = Convolution((5, 128, 7, 6), filters, (3, 2), (1, 2), (1, 0, 2, 1), (2, 1))
    x = np.random.default_rng(5).standard_normal(c.shape, np.float32)
    x *= np.random.default_rng(6).random(c.shape) >= 0.6
    operator = build(made(c), DeviceMemory(MEMORY_BYTES), GPU._replace(compute_units=1), {"x": x})
    for launch in operator.launches:
        execute(launch)
    assert verify(operator).passed
    (product,) = (launch.kernel.name for launch in operator.launches if launch.kernel.name.startswith("sgemm_dib"))
    assert product.endswith({300: ("gathered", "nnz"), 128: "_128", 64: "_64"}[filters])
    found = operator.tensors["places"].array.view(np.int32)[: c.taps * 5 * c.positions].reshape(c.taps, 5, *c.outputs)
    pixels = np.arange(5 * 42).reshape(5, 1, 7, 6)
    padded = np.pad(pixels, ((0, 0), (0, 0), (1, 2), (0, 1)), constant_values=-1)
    for tap in range(c.taps):
        row, column = 2 * (tap // 2), tap % 2
        met = padded[:, 0, row : row + c.outputs[0], column : column + 2 * c.outputs[1] : 2]
        assert np.array_equal(found[tap], np.where(met < 0, -1, 3 * met)), tap


def test_maps_are_compacted_once() -> None:
    """One line a block of a pixel, and its count: not one for each tap that meets it."""
    c = Convolution((1, 128, 3, 4), 2, (3, 3), groups=2)
    x = np.zeros(c.shape, np.float32)
    x[0, 0] = 1  # of the first group's block one value a pixel
    x[0, 64:] = 1  # all of the second group
    dense, compacted = (made(c).work_on({"x": x}) for made in IMPLICIT_SPARSE_FORWARD)
    assert compacted.needed_macs == dense.needed_macs == 2 * (9 + 576)
    assert compacted.stored_bytes == dense.stored_bytes - 4 * 128 * 12 + 4 * (16 * 12 * (1 + 4) + 2 * 12)


def test_the_engine_takes_whole_blocks_of_channels() -> None:
    with pytest.raises(UserError, match="5 channels of a group; allowed are multiples of 64"):
        EllpackDibImplicitForward(PADDED)


def test_filters_in_registers_have_whole_blocks_of_any_number() -> None:
    long = Convolution((1, 8192, 3, 3), 1, (3, 3))
    assert algorithm("ellpack_dib_registers", long).forward(long).convolution.depth > 1 << 16
    with pytest.raises(UserError, match="45 weights of a filter; allowed are multiples of 64"):
        algorithm("ellpack_dib_registers", PADDED)


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
    for name, c, regions in (
        ("ellpack_dib", PADDED, 1),
        ("ellpack_dib_registers", DEEP, DEEP.groups),
        ("ellpack_dib_software", PADDED, 0),
        ("ellpack_dib_software_registers", DEEP, 0),
        ("ellpack_dib_fused", PADDED, 0),
        ("ellpack_dib_implicit", DEEP, DEEP.groups),
        ("ellpack_dib_software_implicit", PADDED, 0),
        ("ellpack_dib_software_padding_free", PADDED, 0),
    ):
        row = algorithm(name, c)
        operator = build(row.forward(c), DeviceMemory(MEMORY_BYTES), GPU)
        assert sum(len(launch.regions) for launch in operator.launches) == regions
        assert row.sparse and name in operator.name and operator.primitive.skips_zeros_of == ("x",)
        assert "(implicit)" in row.backward_data(c).name and "(implicit)" in row.backward_weights(c).name


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
    for name in (made.algorithm for made in (*SPARSE_FORWARD, *IMPLICIT_SPARSE_FORWARD) if part in made.refuses(c)):
        with pytest.raises(UserError, match=f"algorithm '{name}'") as caught:
            algorithm(name, c)
        assert part in str(caught.value)
        with pytest.raises(UserError):
            ALGORITHMS[name].forward(c)
    assert {made.algorithm for made in SPARSE_FORWARD if made.refuses(c)} >= {"ellpack_dib", "ellpack_dib_software"}
