"""Do matrix products compute D = A B + C, by AMD's own tables of where the elements lie?

The tables are formulas that AMD's matrix instruction calculator prints (tests/data/isa/matrix_layouts.txt); sums are
made by NumPy in FP64 of small integers, which every order of addition and every rounding leaves exact.
"""

import re
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import residency
from isa.architecture import LANES
from isa.checking.checker import checked
from isa.device_memory import DeviceMemory
from isa.execution.emulator import run_functional
from isa.lanes import library, python_library
from isa.lanes.call import call_from_python
from isa.lanes.lane_library import LaneLibrary, load_semantics
from isa.lanes.matrix import ELEMENT_BITS, SPARSE_GROUP
from isa.lanes.table import MATRIX
from isa.launch import Launch
from isa.opcodes import ARCHITECTURES
from isa.opcodes.float_operations import float_operations
from isa.trace import MAX_LANE_FLOPS
from tests.support.assembly import Assembly
from tests.unit.isa.test_gfx942_execution import PRODUCTS as OF_GFX942
from tests.unit.isa.test_gfx942_execution import place, place_of_a, place_of_b

load_semantics()
DATA = Path(__file__).resolve().parents[2] / "data" / "isa"
KEEP_DENORMALS = 0x30  # MODE[7:0]
ASSEMBLY = Assembly(DATA / "gfx908_execution.hsaco", gpu="gfx908")
ADDRESS = 0x1_0000_1000  # of a memory's first allocation


class Layout(NamedTuple):
    """A row of the file: formulas in i, j, k and block."""

    name: str
    blocks: str
    cycles: str
    a_register: str
    a_lane: str
    b_register: str
    b_lane: str
    d_register: str
    d_lane: str
    index_register: str = ""
    index_lane: str = ""


def layouts() -> list[Layout]:
    lines = (DATA / "matrix_layouts.txt").read_text("utf-8").splitlines()
    return [Layout(*(part.strip() for part in line.split(" | "))) for line in lines if line[0] != "#"]


LATER = {product.name for product in OF_GFX942}  # test_gfx942_execution computes these
LAYOUTS = [layout for layout in layouts() if layout.name in MATRIX and layout.name not in LATER]


@cache
def compiled(formula: str) -> CodeType:
    return compile(formula.strip(), "formula", "eval")


def value_of(formula: str, places: dict[str, int]) -> int:
    return int(eval(compiled(formula), {"floor": lambda x: int(x // 1)}, places))


@cache
def parts_of(register: str) -> tuple[str, str]:
    """The formulas of a register and of an element's lowest bit in it."""
    bits = re.fullmatch(r"(.*)\.\[.* : (.*)\]", register)
    pair = re.fullmatch(r"\[.*:(.*)\]", register)
    return (bits[1], bits[2]) if bits else (pair[1] if pair else register, "0")


def place_of(register: str, lane: str, places: dict[str, int]) -> tuple[int, int, int]:
    """Register, lane and lowest bit of an element; a range of registers is that of a double, in half registers."""
    whole, low = parts_of(register)
    return value_of(whole, places), value_of(lane, places), value_of(low, places)


def word_of(value: float, kind: str) -> int:
    if kind in ("i8", "i32"):
        return int(value) & (0xFF if kind == "i8" else 0xFFFFFFFF)
    if kind == "bf16":
        return word_of(value, "f32") >> 16
    number = np.array([value], {"f16": "<f2", "f32": "<f4", "f64": "<f8"}[kind])
    return int(number.view(number.dtype.str.replace("f", "u"))[0])


def aligned_rows(count: int) -> np.ndarray:
    """uint32 [count, 64], as far apart and as aligned as registers are."""
    raw = np.zeros(count * 256 + 256, np.uint8)
    first = -raw.ctypes.data % 256
    return raw[first : first + count * 256].view(np.uint32).reshape(count, LANES)


def put(rows: np.ndarray, place: tuple[int, int, int], word: int) -> None:
    register, lane, low = place
    rows[register, lane] |= np.uint32((word << low) & 0xFFFFFFFF)
    if word >> 32:
        rows[register + 1, lane] |= np.uint32(word >> 32)


def operands(layout: Layout, draw: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Registers of random A, B and C, and D = A B + C by NumPy: int64 [blocks, m, n]."""
    product = MATRIX[layout.name]
    m, n, k, blocks = product.m, product.n, product.k, int(layout.blocks)
    a = draw.integers(-8, 8, (blocks, m, k))
    b = draw.integers(-8, 8, (blocks, k, n))
    c = draw.integers(-99, 99, (blocks, m, n))
    rows = [aligned_rows(count) for count in product.signature.source_dwords]
    for block in range(blocks):
        for i, j in np.ndindex(m, k):
            place = place_of(layout.a_register, layout.a_lane, {"i": i, "k": j, "block": block})
            put(rows[0], place, word_of(a[block, i, j], product.kind))
        for i, j in np.ndindex(k, n):
            place = place_of(layout.b_register, layout.b_lane, {"k": i, "j": j, "block": block})
            put(rows[1], place, word_of(b[block, i, j], product.kind))
        for i, j in np.ndindex(m, n):
            place = place_of(layout.d_register, layout.d_lane, {"i": i, "j": j, "block": block})
            put(rows[2], place, word_of(c[block, i, j], product.sum_kind))
    return rows, np.einsum("bik,bkj->bij", a, b) + c


def results(layout: Layout, rows: np.ndarray) -> np.ndarray:
    product = MATRIX[layout.name]
    numbers: Any = rows.view({"f32": np.float32, "i32": np.int32, "f64": np.uint32}[product.sum_kind])
    out = np.zeros((int(layout.blocks), product.m, product.n))
    for block, i, j in np.ndindex(*out.shape):
        register, lane, _ = place_of(layout.d_register, layout.d_lane, {"i": i, "j": j, "block": block})
        if product.sum_kind == "f64":
            out[block, i, j] = np.array([numbers[register, lane], numbers[register + 1, lane]]).view(np.float64)[0]
        else:
            out[block, i, j] = numbers[register, lane]
    return out


def multiply(lanes: LaneLibrary, name: str, rows: list[np.ndarray], mode: int = KEEP_DENORMALS) -> np.ndarray:
    d = aligned_rows(MATRIX[name].signature.destination_dwords)
    call_from_python(lanes.address(name), *(r.ctypes.data for r in (d, *rows)), 0, mode)  # EXEC is 0
    return d


def test_the_table_has_every_product():
    known = {layout.name for layout in layouts()}
    assert known >= {name.removesuffix(".flush") for name in MATRIX}


@pytest.mark.parametrize("layout", [one for one in layouts() if one.name in LATER], ids=lambda layout: layout.name)
def test_places_of_gfx942_are_the_calculators(layout):
    product = MATRIX[layout.name]
    a_bits, b_bits = (ELEMENT_BITS[kind] for kind in (product.kind, product.kind_b))
    for i, j in np.ndindex(product.m, product.n):
        assert place_of(layout.d_register, layout.d_lane, {"i": i, "j": j, "block": 0})[:2] == place(product, i, j)
    for i, k in np.ndindex(product.m, product.k):
        at = {"i": i, "j": i, "k": k, "block": 0}
        column = k // SPARSE_GROUP * SPARSE_GROUP if product.sparse else k
        lane, element = place_of_a(product, i, column)
        assert place_of(layout.a_register, layout.a_lane, at) == (element * a_bits // 32, lane, element * a_bits % 32)
        if product.sparse:  # an index of two bits for each element
            assert place_of(layout.index_register, layout.index_lane, at) == (0, lane, 2 * element)
        lane, element = place_of_b(product, k, i)
        assert place_of(layout.b_register, layout.b_lane, at) == (element * b_bits // 32, lane, element * b_bits % 32)


@pytest.mark.parametrize("gpu", ["gfx908", "gfx90a"])
def test_passes_are_the_calculator_s_cycles(gpu):
    cycles = {layout.name: int(layout.cycles) for layout in layouts()}
    products = [opcode for opcode in ARCHITECTURES[gpu].opcodes() if "matrix" in opcode.flags]
    assert len(products) == {"gfx908": 20, "gfx90a": 27}[gpu]
    for opcode in products:
        assert f"pass{cycles[opcode.mnemonic] // 4}" in opcode.flags, opcode.mnemonic


def test_an_instruction_s_operations_fit_the_trace():
    for architecture in ARCHITECTURES.values():
        for opcode in architecture.opcodes():
            assert float_operations(opcode.mnemonic)[1] <= MAX_LANE_FLOPS, opcode.mnemonic


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_products(layout):
    rows, expected = operands(layout, np.random.default_rng(7))
    for lanes in (library(), python_library()):
        np.testing.assert_array_equal(results(layout, multiply(lanes, layout.name, rows)), expected)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_both_back_ends_round_alike(layout):
    draw = np.random.default_rng(8)
    rows = [aligned_rows(count) for count in MATRIX[layout.name].signature.source_dwords]
    for row in rows:
        row[:] = draw.integers(0, 1 << 32, row.shape, dtype=np.uint32)
    found = [multiply(lanes, layout.name, rows) for lanes in (library(), python_library())]
    if MATRIX[layout.name].sum_kind == "f32":
        found = [np.where(np.isnan(d.view(np.float32)), 0x7FC00000, d) for d in found]
    np.testing.assert_array_equal(*found)


# -- whole kernels: s[2:3] the memory's address, v30 four times the lane ---------------------------------------
_START = (
    f"    s_mov_b32 s2, {ADDRESS & 0xFFFFFFFF:#x}\n    s_mov_b32 s3, 1\n    v_lshlrev_b32 v30, 2, v0\n"
    + "".join(f"    global_load_dword v{4 + row}, v30, s[2:3] offset:{256 * row}\n" for row in range(8))
    + "    s_waitcnt vmcnt(0)\n"
)
_RESOURCE = "    s_mov_b32 s4, s2\n    s_mov_b32 s5, s3\n    s_mov_b32 s6, -1\n    s_mov_b32 s7, 0x27000\n"
_OUT = 1 << 14


def store(row: int, register: str) -> str:
    return (
        f"    v_accvgpr_read_b32 v28, {register}\n    v_add_u32 v31, 0x{_OUT + 256 * row:x}, v30\n"
        "    global_store_dword v31, v28, s[2:3]\n"
    )


_WRITE_A = "".join(f"    v_accvgpr_write_b32 a{row}, v{8 + row}\n" for row in range(4)) + "    s_nop 4\n"
SHARED = ASSEMBLY.kernel(
    "shared_blocks",
    _START
    + "".join(f"    v_accvgpr_write_b32 a{row}, {row // 16}.0\n" for row in range(32))
    + "    s_nop 4\n    v_mfma_f32_16x16x1f32 a[0:15], v4, v5, a[0:15] cbsz:1 abid:1 blgp:3\n    s_nop 15\n"
    + "    v_mfma_f32_16x16x1f32 a[16:31], v4, v5, a[16:31]\n    s_nop 15\n"
    + "".join(store(row, f"a{row}") for row in range(32))
    + "    s_endpgm\n",
    vgprs=32,
)
HALF_ACTIVE = ASSEMBLY.kernel(
    "half_active",
    _START
    + "".join(f"    v_accvgpr_write_b32 a{row}, 0\n" for row in range(4))
    + "    s_mov_b32 exec_hi, 0\n    s_nop 4\n    v_mfma_f32_16x16x4f32 a[4:7], v4, v5, a[0:3]\n    s_nop 15\n"
    + "    s_mov_b64 exec, -1\n"
    + "".join(store(row, f"a{4 + row}") for row in range(4))
    + "    s_endpgm\n",
    vgprs=32,
)
ACCUMULATED = ASSEMBLY.kernel(
    "accumulated",
    _START
    + _WRITE_A
    + "    v_mfma_f32_16x16x4f32 a[0:3], v8, v9, a[0:3]\n    s_nop 15\n"
    + "    v_mfma_f32_16x16x4f32 a[4:7], a0, v9, a[0:3]\n    s_nop 15\n"
    + "".join(store(row, f"a{row}") for row in range(8))
    + "    v_dot2c_f32_f16 v10, v4, v5\n    v_dot4c_i32_i8 v11, v4, v5\n    v_pk_fmac_f16 v6, v4, v5\n"
    + "".join(
        f"    v_add_u32 v31, 0x{_OUT + 256 * (8 + row):x}, v30\n    global_store_dword v31, {register}, s[2:3]\n"
        for row, register in enumerate(("v10", "v11", "v6"))
    )
    + "    global_atomic_add_f32 v30, v8, s[2:3] offset:2048\n    s_waitcnt vmcnt(0)\n"
    + "    global_atomic_pk_add_f16 v30, v4, s[2:3] offset:2304\n    s_waitcnt vmcnt(0)\n    s_endpgm\n",
    vgprs=32,
)


HALVES = ASSEMBLY.kernel(
    "half_loads",
    _START
    + _RESOURCE
    + "    global_load_short_d16_hi v5, v30, s[2:3]\n    buffer_load_sbyte_d16 v6, v30, s[4:7], 0 offen\n"
    + "    ds_write_b32 v30, v4\n    s_waitcnt vmcnt(0) lgkmcnt(0)\n    ds_read_u16_d16_hi v7, v30\n"
    + "    s_mov_b32 s8, 0xf00000\n    v_mov_b32 v29, s8\n    ds_read_b32 v8, v29\n    s_waitcnt lgkmcnt(0)\n"
    + "".join(
        f"    v_add_u32 v31, 0x{_OUT + 256 * row:x}, v30\n    global_store_dword v31, v{5 + row}, s[2:3]\n"
        for row in range(4)
    )
    + "    s_endpgm\n",
    vgprs=32,
    lds_bytes=256,
)


def prepared(name: str, words: np.ndarray) -> tuple[Launch, Any]:
    memory = DeviceMemory(1 << 20)
    block = memory.allocate(1 << 16, "all")
    assert block.address == ADDRESS
    memory.view(block)[: words.nbytes] = words.view(np.uint8).ravel()
    return Launch(ASSEMBLY[name], memory, b"", (64, 1, 1), (64, 1, 1)), block


def run(name: str, words: np.ndarray) -> np.ndarray:
    """The memory's rows of 64 dwords after the kernel has run."""
    launch, block = prepared(name, words)
    run_functional(launch)
    return np.asarray(launch.memory.view(block)).view(np.uint32).reshape(-1, 64)


def small_numbers(rows: int) -> np.ndarray:
    return np.random.default_rng(3).integers(-8, 8, (rows, 64)).astype(np.float32)


def of_blocks(rows: np.ndarray) -> np.ndarray:
    """D of v_mfma_f32_16x16x1f32 as [block, i, j], from its sixteen registers."""
    block, i, j = np.mgrid[:4, :16, :16]
    return rows[4 * block + i % 4, 16 * (i // 4) + j]


def test_blocks_share_a_and_b_moves():
    words = small_numbers(8)
    out = run(SHARED, words.view(np.uint32)).view(np.float32)[_OUT // 256 :]
    a, b = words[0].reshape(4, 16), words[1].reshape(4, 16)
    plain = np.einsum("bi,bj->bij", a, b) + 1
    np.testing.assert_array_equal(of_blocks(out[16:32]), plain)
    shared = np.einsum("bi,bj->bij", a[[1, 1, 3, 3]], b[[1, 2, 3, 0]])
    np.testing.assert_array_equal(of_blocks(out[:16]), shared)


def test_accumulation_registers_dots_and_atomics():
    words = small_numbers(16)
    halves = np.random.default_rng(4).integers(-8, 8, (2, 64, 2)).astype(np.float16)
    bits = words.view(np.uint32).copy()
    bits[:2] = halves.view(np.uint32)[..., 0]
    bits[2], bits[9] = np.ones((64, 2), np.float16).view(np.uint32)[:, 0], halves.view(np.uint32)[1, :, 0]
    memory = run(ACCUMULATED, bits)
    out = memory[_OUT // 256 :]
    a, b = words[4].reshape(4, 16).T, words[5].reshape(4, 16)
    i, j = np.mgrid[:16, :16]

    def matrix(registers: np.ndarray) -> np.ndarray:
        return registers.view(np.float32)[i % 4, 16 * (i // 4) + j]

    first = matrix(bits[4:8]).astype(np.float64) + a.astype(np.float64) @ b
    np.testing.assert_allclose(matrix(out[:4]), first.astype(np.float32), rtol=1e-6)
    a_again = out[0].view(np.float32).reshape(4, 16).T.astype(np.float64)
    second = matrix(out[:4]).astype(np.float64) + a_again @ b
    np.testing.assert_allclose(matrix(out[4:8]), second, rtol=1e-6, atol=1e-6)
    dot = (halves[0].astype(np.float64) * halves[1]).sum(axis=1) + words[6]
    np.testing.assert_array_equal(out[8].view(np.float32), dot.astype(np.float32))
    bytes_of = bits[:2].view(np.int8).reshape(2, 64, 4).astype(np.int64)
    integer = (bytes_of[0] * bytes_of[1]).sum(axis=1) + bits[7].view(np.int32)
    np.testing.assert_array_equal(out[9].view(np.int32), integer.astype(np.int32))
    sums = halves[0].astype(np.float64) * halves[1] + 1
    np.testing.assert_array_equal(out[10].view(np.float16).reshape(64, 2), sums.astype(np.float16))
    np.testing.assert_array_equal(memory[8].view(np.float32), words[8] + words[4])
    np.testing.assert_array_equal(memory[9].view(np.float16).reshape(64, 2), halves[1] + halves[0])


def test_loads_into_half_of_a_register_clear_the_other_half():
    """SRAM-ECC writes whole registers; rocBLAS's kernels for this GPU count on it."""
    words = np.random.default_rng(1).integers(1, 1 << 32, (8, 64), dtype=np.uint32)
    out = run(HALVES, words)[_OUT // 256 :]
    signed_byte = (words[0] & 0xFF).astype(np.uint8).view(np.int8).astype(np.int16).view(np.uint16)
    np.testing.assert_array_equal(out[0], words[0] << np.uint32(16))
    np.testing.assert_array_equal(out[1], signed_byte)
    np.testing.assert_array_equal(out[2], words[0] << np.uint32(16))
    assert words[4].all() and not out[3].any()  # read past all LDS, by which rocBLAS clears registers


def test_lanes_that_are_not_active_multiply_too():
    words = small_numbers(8)
    out = run(HALF_ACTIVE, words.view(np.uint32)).view(np.float32)[_OUT // 256 :]
    i, j = np.mgrid[:16, :16]
    np.testing.assert_array_equal(out[i % 4, 16 * (i // 4) + j], words[0].reshape(4, 16).T @ words[1].reshape(4, 16))


@pytest.mark.compiled_tier  # masks of lanes are words of 64 bits there
@pytest.mark.parametrize("name", [SHARED, HALF_ACTIVE])
def test_checking_knows_what_a_product_writes(name):
    launch, _ = prepared(name, small_numbers(8).view(np.uint32))
    found = checked(launch, residency(launch, GpuSpec(architecture="gfx908"))).findings
    assert [finding.text for finding in found] == []
