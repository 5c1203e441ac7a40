"""Are the kernels that Tensile names read and launched as Tensile's host code does it?"""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.device_memory import DeviceMemory
from isa.object.kernel_metadata import KernelArgument
from workloads.vendor.tensile import (
    HIP_ARGUMENTS,
    PRECISIONS,
    TensileError,
    TensileGemm,
    TensileKernel,
    TensileProblem,
    element_bytes_of,
    magic_division,
    takes_pointers,
)

NAME = "Cijk_Alik_Bljk_{types}_MT32x64x16_SN_1LDSB0_GSU1_GSUASB_ISA906_K1_SU32_SUM0_SUS256_TT4_4_WG8_16_2_WGM8"


@pytest.mark.parametrize(
    ("types", "element_bytes", "pointers"), [("SB", 4, False), ("DB_GB", 8, True), ("HHS_BH", 2, False)]
)
def test_a_name_says_types_and_how_matrices_are_given(types: str, element_bytes: int, pointers: bool) -> None:
    kernel = TensileKernel.named(name := NAME.format(types=types))
    assert (kernel.element_bytes, kernel.pointers) == (element_bytes, pointers)
    assert (element_bytes_of(name), takes_pointers(name)) == (element_bytes, pointers)
    assert (kernel.transposes, kernel.tile, kernel.turn, kernel.work_items) == ("TN", (32, 64), 16, 256)
    assert (kernel.stagger, kernel.group_columns, kernel.split_k) == ((32, 256), 8, 1)


@pytest.mark.parametrize(
    ("types", "how", "launched"),
    [
        ("SB", "GSUASB", True),
        ("DB", "GSUASB", True),
        ("HHS_BH", "GSUASB", False),
        ("SB_GB", "GSUASB", False),
        ("SB", "GSUAMB", True),
        ("HHS_BH", "GSUAMB", True),
        ("BBS_BH", "GSUAMB", True),
        ("DB", "GSUAMB", False),
        ("I8II_BH", "GSUAMB", False),
        ("SB_GB", "GSUAMB", False),
    ],
)
def test_a_split_k_is_added_by_atomics_or_in_a_buffer(types: str, how: str, launched: bool) -> None:
    name = NAME.format(types=types).replace("GSU1", "GSU4").replace("GSUASB", how)
    if launched:
        kernel = TensileKernel.named(name)
        assert (kernel.split_k, kernel.gathers_parts) == (4, how == "GSUAMB")
    else:
        with pytest.raises(
            TensileError, match="launched are GSUASB of FP32 and FP64 and GSUAMB of FP32, FP16 and BF16"
        ):
            TensileKernel.named(name)


def test_a_kernel_written_by_hand_is_read_by_its_own_name() -> None:
    name = "DGEMM_Aldebaran_NN_MT128x128x16_MI16x16x4x1_GRVW2_SU4_SUS128_WGM4"
    kernel = TensileKernel.named(name)
    assert (kernel.transposes, kernel.tile, kernel.turn, kernel.work_items) == ("NN", (128, 128), 16, 256)
    assert (kernel.element_bytes, element_bytes_of(name), kernel.stagger) == (8, 8, (4, 128))


@pytest.mark.parametrize(
    ("types", "k", "mask"),
    # a step of 256 bytes is 4, 2, 8 turns of 16 elements; of 32 steps as many halvings as K has turns for
    [("SB", 16 * 127, 15), ("SB", 16 * 128, 31), ("SB", 16 * 7, 0), ("DB", 16 * 64, 31), ("HHS_BH", 16 * 64, 7)],
)
def test_workgroups_begin_apart_as_far_as_k_allows(types: str, k: int, mask: int) -> None:
    kernel = TensileKernel.named(NAME.format(types=types))
    problem = TensileProblem("TN", 64, 64, k, staggered=True)
    assert kernel.stagger_mask(problem) == mask
    assert kernel.stagger_mask(replace(problem, staggered=False)) == 0
    assert replace(kernel, stagger=(0, 0)).stagger_mask(problem) == 0


def _function(names: list[str], sizes: dict[str, int]) -> SimpleNamespace:
    """Make a kernel of arguments one after another, of 4 bytes but for those of `sizes`."""
    arguments, offset = [], 0
    for name in names:
        size = sizes.get(name, 4)
        offset = -(-offset // size) * size
        kind = "global_buffer" if name in "ABCDW" else "by_value"
        arguments.append(KernelArgument(name, kind, offset, size))
        offset += size
    return SimpleNamespace(name="k", short_name="k", arguments=tuple(arguments), kernarg_bytes=offset, lds_bytes=0)


@pytest.mark.parametrize("types", PRECISIONS)
def test_a_batch_by_pointers(types: str) -> None:
    """Arguments by name: arrays of pointers to matrices one after another, scalars of the type that sums have."""
    kernel = replace(TensileKernel.named(NAME.format(types=types)), pointers=True)
    scalar = 8 if types == "DB" else 4
    pointers = dict.fromkeys(("A", "B", "C", "D"), 8)
    names = ["D", "C", "A", "B", "alpha", "beta", "SizesFree2", "strideA1", "sizeB"]
    function = _function(names, {**pointers, "alpha": scalar, "beta": scalar, "sizeB": 8})
    memory = DeviceMemory(1 << 24)
    problem = TensileProblem("TN", 40, 100, 24, alpha=2.0, beta=3.0, batch=3)
    gemm = TensileGemm.allocate(problem, kernel, {kernel.name: function}, memory)
    (launch,) = gemm.launches
    held = {a.name: (launch.kernarg[a.offset : a.offset + a.size]) for a in function.arguments}
    size, result = kernel.element_bytes, kernel.precision.result_bytes
    # A's and B's tiles reach beyond them: there is memory for a batch behind the last one
    for name, matrix, count in (("A", 40 * 24 * size, 6), ("B", 24 * 100 * size, 6), ("C", 40 * 100 * result, 3)):
        array = memory.at(int.from_bytes(held[name], "little"))
        matrices = next(one for one in memory.allocations if one.name == name)
        assert array is not None and not array.writable
        steps = memory.view(array, np.uint64) - np.uint64(matrices.address)
        assert steps.tolist() == [one * matrix for one in range(3)]
        assert matrices.size_bytes == count * matrix
    assert held["D"] == held["C"]
    dtype = kernel.precision.scalar
    assert [np.frombuffer(held[name], dtype)[0] for name in ("alpha", "beta")] == [2.0, 3.0]
    assert [int.from_bytes(held[n], "little") for n in ("SizesFree2", "strideA1", "sizeB")] == [3, 960, 7200]
    assert launch.workgroups == (2, 2, 3)


def test_parts_in_a_buffer_are_added_up_by_a_kernel_after_them() -> None:
    kernel = TensileKernel.named(NAME.format(types="HHS_BH").replace("GSU1", "GSU4").replace("GSUASB", "GSUAMB"))
    product = _function(["D", "alpha", "beta"], {"D": 8})
    words = [f"word{number}" for number in range(12)]
    adds = _function([*"DWC", "offset0", "offset1", *words], dict.fromkeys([*"DWC", "offset0", "offset1"], 8))
    functions = {kernel.name: product, "Cijk_H_PostGSU": adds}
    memory = DeviceMemory(1 << 24)
    problem = TensileProblem("TN", 40, 100, 24, alpha=2.0, beta=3.0)
    multiply, sums = TensileGemm.allocate(problem, kernel, functions, memory).launches
    parts = next(one for one in memory.allocations if one.name == "parts of sums")
    assert parts.size_bytes == 4 * 4 * 40 * 100
    assert int.from_bytes(multiply.kernarg[:8], "little") == parts.address  # alpha is applied once, to the sum
    assert np.frombuffer(multiply.kernarg[8:12], np.float32)[0] == 1.0
    pointers = np.frombuffer(sums.kernarg[:40], np.uint64).tolist()
    assert pointers[1] == parts.address and pointers[0] == pointers[2] and pointers[3:] == [0, 0]
    assert np.frombuffer(sums.kernarg[40:48], np.float32).tolist() == [2.0, 3.0]
    values = [40, 4000, 40, 4000, 40, 4000, 40, 100, 1, 4]
    assert np.frombuffer(sums.kernarg[48:88], np.uint32).tolist() == values


def test_hip_kernels_take_their_arguments_in_order() -> None:
    """Kernels that the compiler built name no argument: offsets of 8 bytes, then 17 words (their metadata)."""
    kernel = TensileKernel.named(NAME.format(types="SB").replace("WGM8", "WGM1"))
    sizes = dict.fromkeys(("A", "B", "C", "D", "OffsetA", "OffsetB", "OffsetC", "OffsetD"), 8)
    named = _function(list(HIP_ARGUMENTS), sizes)
    bare = _function(list(HIP_ARGUMENTS), sizes)
    bare.arguments = tuple(argument._replace(name="") for argument in bare.arguments)
    assert bare.kernarg_bytes == 132 and named.arguments[10].offset == 72
    blocks = []
    for function in (named, bare):
        gemm = TensileGemm.allocate(
            TensileProblem("TN", 40, 100, 24), kernel, {kernel.name: function}, DeviceMemory(1 << 24)
        )
        blocks.append(gemm.launches[0].kernarg)
    assert blocks[0] == blocks[1]
    assert np.frombuffer(blocks[0][-28:], np.uint32).tolist() == [40, 100, 1, 24, 0, 2, 2]


@given(divisor=st.integers(1, 1 << 20), dividend=st.integers(0, (1 << 31) - 1))
def test_kernels_divide_by_a_number_and_a_shift(divisor: int, dividend: int) -> None:
    number, shift = magic_division(divisor)
    assert 0 <= number < 1 << 32
    upper = (dividend * number >> 32) + (dividend if shift >> 31 else 0)
    assert upper >> (shift & 0x7FFFFFFF) == dividend // divisor


@pytest.mark.parametrize(("compute_units", "workgroups"), [(64, 6), (2, 4)])
def test_a_persistent_kernel_has_workgroups_for_each_compute_unit(compute_units: int, workgroups: int) -> None:
    """2 x 3 tiles by two workgroups a compute unit; how many there are, the kernel is told."""
    name = NAME.format(types="DB")
    assert TensileKernel.named(name).persistent == 0
    assert TensileKernel.named(re.sub(r"_SN_", "_SN_PK2_", name, count=1)).persistent == 2
    kernel = replace(TensileKernel.named(name), persistent=2)
    rows, columns = kernel.tile
    function = _function(["GridNumWorkGroups0", "NumWorkGroups0", "MagicNumberProblemNumGroupTiles0"], {})
    problem = TensileProblem("TN", 2 * rows, 3 * columns, 24, compute_units=compute_units)
    gemm = TensileGemm.allocate(problem, kernel, {kernel.name: function}, DeviceMemory(1 << 24))
    (launch,) = gemm.launches
    assert launch.workgroups == (workgroups, 1, 1)
    assert np.frombuffer(launch.kernarg, np.uint32).tolist() == [workgroups, 2, 1 << 31]
