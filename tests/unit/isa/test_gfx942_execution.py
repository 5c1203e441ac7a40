"""Does what gfx942 adds to gfx90a do what AMD's CDNA 3 ISA manual says? FP8, sparse matrices, private memory's address.

Matrices are small integers, which every order of addition leaves exact; their products are NumPy's.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from isa.architecture import LANES
from isa.device_memory import DeviceMemory
from isa.execution.emulator import run_functional
from isa.lanes import library, python_library
from isa.lanes.call import call_from_python
from isa.lanes.lane_library import load_semantics
from isa.lanes.matrix import MatrixProduct
from isa.lanes.table import MATRIX
from isa.launch import Launch
from isa.opcodes import ARCHITECTURES
from tests.support.assembly import Assembly

load_semantics()
PRODUCTS = [p for p in MATRIX.values() if p.kind in ("fp8", "bf8") or p.sparse or (p.kind == "i8" and p.elements == 8)]
ASSEMBLY = Assembly(Path(__file__).resolve().parents[2] / "data" / "isa" / "gfx942_execution.hsaco", gpu="gfx942")
ADDRESS = 0x1_0000_1000  # of a memory's first allocation
OUT = 1 << 14
_START = (
    f"    s_mov_b32 s2, {ADDRESS & 0xFFFFFFFF:#x}\n    s_mov_b32 s3, 1\n    v_and_b32 v0, 0x3ff, v0\n"
    "    v_lshlrev_b32 v30, 2, v0\n"
    + "".join(f"    global_load_dword v{4 + row}, v30, s[2:3] offset:{256 * row}\n" for row in range(8))
    + "    s_waitcnt vmcnt(0)\n"
)


def store(row: int, register: str) -> str:
    return f"    v_add_u32 v31, 0x{OUT + 256 * row:x}, v30\n    global_store_dword v31, {register}, s[2:3]\n"


FORMS = ASSEMBLY.kernel(
    "forms",
    _START
    + "    v_mov_b64 v[12:13], v[4:5]\n    v_lshl_add_u64 v[14:15], v[4:5], 3, v[6:7]\n"
    + "    v_fmamk_f32 v16, v8, 0x40400000, v9\n    v_fmaak_f32 v17, v8, v9, 0x40400000\n"
    + "    s_mov_b32 m0, 16\n    s_nop 0\n    global_load_lds_dword v30, s[2:3] offset:256\n"
    + "    s_waitcnt vmcnt(0)\n    ds_read_b32 v18, v30 offset:272\n"
    + "    scratch_store_dwordx2 off, v[10:11], off offset:8\n    v_mov_b32 v20, 4\n    s_waitcnt vmcnt(0)\n"
    + "    s_mov_b32 s4, 4\n    scratch_load_dword v19, v20, s4 offset:4 sc1\n    s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    + "    buffer_wbl2 sc0 sc1\n    buffer_inv sc1\n    v_mov_b32 v21, v4\n    v_cvt_pk_fp8_f32 v21, v8, v9\n"
    + "    v_mov_b32 v22, v5\n    v_cvt_pk_bf8_f32 v22, -v8, v9 op_sel:[0,0,1]\n    v_cvt_f32_fp8_sdwa v23, v21"
    + " src0_sel:BYTE_1\n    v_pk_mul_f32 v[24:25], v[8:9], v[8:9] clamp\n"
    + "    global_atomic_pk_add_bf16 v30, v10, s[2:3] offset:1024\n    ds_write_b32 v30, v4 offset:512\n"
    + "    s_waitcnt vmcnt(0) lgkmcnt(0)\n    ds_pk_add_rtn_f16 v26, v30, v11 offset:512\n    s_waitcnt lgkmcnt(0)\n"
    + "    global_load_dword v27, v30, s[2:3] offset:1024\n    ds_read_b32 v28, v30 offset:512\n"
    + "    s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    + "".join(store(row, f"v{12 + row}") for row in range(8))
    + "".join(store(row, f"v{13 + row}") for row in range(8, 16))
    + "    s_endpgm\n",
    vgprs=32,
    lds_bytes=1024,
    more="        .amdhsa_private_segment_fixed_size 16\n        .amdhsa_enable_private_segment 1\n",
)
# private memory at offsets that are no multiples of four
_PRIVATE = (
    "        .amdhsa_private_segment_fixed_size {size}\n        .amdhsa_enable_private_segment 1\n",
    "    v_mov_b32 v20, 3\n    scratch_store_dwordx2 v20, v[4:5], off\n    s_waitcnt vmcnt(0)\n",
)
UNALIGNED = ASSEMBLY.kernel(
    "unaligned",
    _START
    + "    v_mov_b32 v12, 0\n    v_mov_b32 v13, 0\n    v_mov_b32 v14, 0\n    v_mov_b32 v18, -1\n"
    + "    scratch_store_dwordx3 off, v[12:14], off\n    s_waitcnt vmcnt(0)\n"
    + _PRIVATE[1]
    + "    scratch_load_dwordx3 v[12:14], off, off\n    scratch_load_dwordx2 v[16:17], v20, off offset:-2\n"
    + "    scratch_load_sshort v15, off, off offset:7\n    scratch_load_short_d16_hi v18, off, off offset:3\n"
    + "    s_waitcnt vmcnt(0)\n    scratch_store_short off, v7, off offset:7\n    s_waitcnt vmcnt(0)\n"
    + "    scratch_load_dword v19, off, off offset:5\n    s_waitcnt vmcnt(0)\n"
    + "".join(store(row, f"v{12 + row}") for row in range(8))
    + "    s_endpgm\n",
    vgprs=32,
    more=_PRIVATE[0].format(size=12),
)
PAST_PRIVATE = ASSEMBLY.kernel(
    "past_private", _START + _PRIVATE[1] + "    s_endpgm\n", vgprs=32, more=_PRIVATE[0].format(size=8)
)
# what Triton begins kernels of FP8 with, whether they convert by such instructions or not
_SATURATE = _START + "    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n"
for _name, _text in (
    ("rounded_to_zero", "v_cvt_pkrtz_f16_f32 v12, v4, v5"),
    ("to_half", "v_cvt_f16_f32 v12, v4"),
    ("to_eight_bits", "v_cvt_pk_fp8_f32 v12, v4, v5"),
    ("to_nearest_half", "v_pk_mul_f16 v12, v4, v5"),
):
    ASSEMBLY.kernel(_name, f"{_SATURATE}    {_text}\n{store(0, 'v12')}    s_endpgm\n", vgprs=32)
# denormals of BF16 are kept; the first source of a product of doubles is negated; the second set of indices
MATRICES = ASSEMBLY.kernel(
    "matrices",
    _START
    + "    v_mfma_f32_4x4x4_16b_bf16 v[12:15], v[4:5], v[6:7], 0\n    s_nop 15\n"
    + "    v_mfma_f64_4x4x4_4b_f64 v[16:17], v[8:9], v[10:11], 0 neg:[1,0,0]\n    s_nop 15\n"
    + store(0, "v12")
    + store(1, "v16")
    + store(2, "v17")
    + "    s_endpgm\n",
    vgprs=32,
)
SPARSE = ASSEMBLY.kernel(
    "sparse",
    _START
    + "".join(f"    v_mov_b32 v{12 + row}, 1.0\n" for row in range(4))
    + "    v_smfmac_f32_16x16x32_f16 v[12:15], v[4:5], v[6:9], v10 abid:1\n    s_nop 15\n"
    + "".join(store(row, f"v{12 + row}") for row in range(4))
    + "    s_endpgm\n",
    vgprs=32,
)
PRELOADED = ASSEMBLY.kernel(
    "preloaded",
    "    s_trap 2\n"
    + "    s_nop 0\n" * 63  # 256 bytes for hardware that loads nothing
    # s[0:1]: the arguments' address, s[2:3]: the second one, an address
    + "    v_and_b32 v0, 0x3ff, v0\n    v_lshlrev_b32 v30, 2, v0\n    v_mov_b32 v4, s4\n"
    + "    s_load_dword s6, s[0:1], 0x0\n    s_waitcnt lgkmcnt(0)\n    v_mov_b32 v5, s6\n"
    + store(0, "v4")
    + store(1, "v5")
    + "    s_endpgm\n",
    vgprs=32,
    more="        .amdhsa_user_sgpr_kernarg_segment_ptr 1\n        .amdhsa_kernarg_size 24\n"
    + "        .amdhsa_user_sgpr_kernarg_preload_length 3\n        .amdhsa_user_sgpr_kernarg_preload_offset 2\n"
    + "        .amdhsa_user_sgpr_count 5\n",
)


def prepared(name: str, words: np.ndarray, kernarg: bytes = b"") -> Launch:
    memory = DeviceMemory(1 << 20)
    block = memory.allocate(1 << 16, "all")
    assert block.address == ADDRESS
    memory.view(block)[: words.nbytes] = words.view(np.uint8).ravel()
    return Launch(ASSEMBLY[name], memory, kernarg, (64, 1, 1), (64, 1, 1))


def run(name: str, words: np.ndarray, kernarg: bytes = b"") -> np.ndarray:
    launch = prepared(name, words, kernarg)
    run_functional(launch)
    (block,) = (one for one in launch.memory.allocations if one.name == "all")
    return np.asarray(launch.memory.view(block)[OUT:]).view(np.uint32).reshape(-1, 64)


def test_moves_sums_and_memory():
    words = np.random.default_rng(1).integers(0, 1 << 32, (8, 64), dtype=np.uint32)
    a, b = np.random.default_rng(2).integers(-8, 9, (2, 64)).astype(np.float32)
    words[4:6] = np.stack((a, b)).view(np.uint32)
    out = run(FORMS, words)
    pairs = [words[k].astype(np.uint64) | words[k + 1].astype(np.uint64) << np.uint64(32) for k in (0, 2)]
    total = (pairs[0] << np.uint64(3)) + pairs[1]
    expected = [*words[:2], total.astype(np.uint32), (total >> np.uint64(32)).astype(np.uint32)]
    expected += [(3 * a + b).view(np.uint32), (a * b + 3).view(np.uint32), words[1], words[7]]
    np.testing.assert_array_equal(out[:8], expected)
    low, high = codes(a, "fp8") | codes(b, "fp8") << 8, codes(-a, "bf8") | codes(b, "bf8") << 8
    np.testing.assert_array_equal(out[8], words[0] & 0xFFFF0000 | low)
    np.testing.assert_array_equal(out[9], words[1] & 0xFFFF | high << 16)
    np.testing.assert_array_equal(out[10].view(np.float32), b)
    np.testing.assert_array_equal(out[11:13].view(np.float32), np.clip((a * a, b * b), 0, 1))
    np.testing.assert_array_equal(out[13], words[0])
    sums = [words[k][:, None].view(np.uint16).astype(np.uint32) << 16 for k in (4, 6)]
    np.testing.assert_array_equal(out[14][:, None].view(np.uint16), rounded_brain(sums[0], sums[1]))
    with np.errstate(all="ignore"):
        halves = words[0][:, None].view(np.float16) + words[7][:, None].view(np.float16)
    np.testing.assert_array_equal(out[15][:, None].view(np.float16), halves)


def rounded_brain(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The sums of numbers whose lower halves are zero, in FP64, to the nearest BF16, to even."""
    total = left.view(np.float32).astype(np.float64) + right.view(np.float32)
    bits = total.astype(np.float32).view(np.uint32)
    return (bits + np.uint32(0x7FFF) + (bits >> 16 & 1) >> 16).astype(np.uint16)


def test_eight_bits_are_rounded_to_nearest_even():
    """The numbers halfway between two, and others: next to them, the even one of two, NaN past the largest."""
    draw = np.random.default_rng(6)
    for kind in ("fp8", "bf8"):
        numbers = np.array(sorted(table_of(kind)))
        even = np.array([table_of(kind)[number] & 1 == 0 for number in numbers])
        middles = (numbers[1:] + numbers[:-1]) / 2
        values = np.concatenate([middles, numbers, draw.standard_normal(150) * 2.0 ** draw.integers(-20, 9, 150)])
        values = values[:640].astype(np.float32)
        for lanes in (library(), python_library()):
            for first in range(0, len(values) - LANES, LANES):
                d, a, b = (aligned_rows(1) for _ in range(3))
                a[0] = values[first : first + LANES].view(np.uint32)
                address = lanes.address(f"v_cvt_pk_{kind}_f32")
                call_from_python(address, d.ctypes.data, a.ctypes.data, b.ctypes.data, 0, -1, 0xF0)
                for value, code in zip(values[first : first + LANES].astype(float), d[0] & 0xFF, strict=True):
                    apart = np.abs(numbers - value)
                    near = np.flatnonzero(apart == apart.min())
                    wanted = numbers[near[even[near]][0] if len(near) > 1 else near[0]]
                    past = abs(value) >= numbers[-1] + (numbers[-1] - numbers[-2]) / 2
                    assert code == (0x80 if past else table_of(kind)[wanted]), (kind, value)


def test_denormals_are_kept_and_doubles_negated():
    words = np.zeros((8, 64), np.uint32)
    words[0] = 0x0001  # BF16: 2 ** -133
    words[2] = 0x4000  # 2
    doubles = np.random.default_rng(3).integers(-9, 9, (2, 64)).astype(np.float64)
    words[4:] = doubles.view(np.uint32).reshape(2, 64, 2).transpose(0, 2, 1).reshape(4, 64)
    out = run(MATRICES, words)
    assert (out[0].view(np.float32) == 2.0**-132).all()
    left, right = doubles.reshape(2, 4, 4, 4)
    product = np.einsum("kbi,kbj->ibj", -left, right).ravel()
    np.testing.assert_array_equal(np.stack(out[1:3], axis=1).ravel().view(np.float64), product)


def test_arguments_lie_in_scalar_registers():
    address = ADDRESS.to_bytes(8, "little")
    kernarg = (77).to_bytes(8, "little") + address + (99).to_bytes(8, "little")
    out = run(PRELOADED, np.zeros(4, np.uint32), kernarg)
    assert (out[0] == 99).all() and (out[1] == 77).all()


def test_private_memory_is_read_and_written_at_any_byte():
    words = np.random.default_rng(942).integers(0, 1 << 32, (8, LANES), dtype=np.uint32)
    out = run(UNALIGNED, words)
    private = np.zeros((LANES, 12), np.uint8)
    private[:, 3:11] = np.stack(words[:2], axis=1).view(np.uint8)

    def loaded(first: int, kind: str) -> np.ndarray:
        return private[:, first : first + np.dtype(kind).itemsize].copy().view(kind)[:, 0]

    expected = [*(loaded(at, "<u4") for at in (0, 4, 8)), loaded(7, "<i2").astype(np.int32).view(np.uint32)]
    expected += [loaded(1, "<u4"), loaded(5, "<u4"), loaded(3, "<u2").astype(np.uint32) << 16]  # ECC: whole registers
    private[:, 7:9] = words[3][:, None].view(np.uint8)[:, :2]
    np.testing.assert_array_equal(out[:8], [*expected, loaded(5, "<u4")])


def test_saturation_is_refused_where_it_would_change_a_result():
    words = np.zeros((8, LANES), np.float32)
    words[0], words[1] = 1e9, -65519
    out = run("rounded_to_zero", words.view(np.uint32))
    assert (out[0].view(np.float16).reshape(LANES, 2) == (65504, -65504)).all()
    for name in ("to_half", "to_eight_bits", "to_nearest_half"):
        with pytest.raises(UserError, match=rf"{name}': v_.* not implemented in a kernel that sets MODE.FP16_OVFL"):
            run(name, words.view(np.uint32))


def test_private_memory_ends_within_a_word_too():
    with pytest.raises(UserError, match=r"address 0x3 \(8 bytes\), .*private"):
        run(PAST_PRIVATE, np.zeros((8, LANES), np.uint32))


def test_timing_is_refused_with_the_reason():
    with pytest.raises(UserError, match=r"timing of gfx942 is not modelled: its chiplets"):
        simulate(prepared(FORMS, np.zeros(4, np.uint32)), GpuSpec(architecture="gfx942"))


# -- matrix products: where elements lie is stated here again; test_matrix holds it to AMD's calculator ---------------
def number_of(code: int, kind: str) -> float:
    """What a byte means (ROCm's data types: FP8 E4M3 FNUZ with bias 8, E5M2 FNUZ with bias 16)."""
    mantissa, bias = {"fp8": (3, 8), "bf8": (2, 16)}[kind]
    exponent, fraction = (code & 127) >> mantissa, (code & ((1 << mantissa) - 1)) / (1 << mantissa)
    size = (1 + fraction) * 2.0 ** (exponent - bias) if exponent else fraction * 2.0 ** (1 - bias)
    return float("nan") if code == 0x80 else -size if code >> 7 else size


@cache
def table_of(kind: str) -> dict[float, int]:
    return {number_of(code, kind): code for code in range(256) if code != 0x80}


def codes(values: np.ndarray, kind: str) -> np.ndarray:
    """Bytes or halves of small integers."""
    if kind in ("fp8", "bf8"):
        table = table_of(kind)
        return np.vectorize(lambda value: table[float(value)])(values).astype(np.uint32)
    if kind == "i8":
        return (values & 0xFF).astype(np.uint32)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint32)
    return values.astype(np.float16).view(np.uint16).astype(np.uint32)


def aligned_rows(count: int) -> np.ndarray:
    raw = np.zeros(count * 256 + 256, np.uint8)
    first = -raw.ctypes.data % 256
    return raw[first : first + count * 256].view(np.uint32).reshape(count, LANES)


def put(rows: np.ndarray, lane: int, element: int, bits: int, code: int) -> None:
    register, place = divmod(element * bits, 32)
    rows[register, lane] |= np.uint32(code << place)


def operands(product: MatrixProduct, draw: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Registers of A, B and C or the indices; D before; A B by NumPy."""
    m, n, k = product.m, product.n, product.k
    a, b = draw.integers(-4, 5, (m, k)), draw.integers(-4, 5, (k, n))
    before = draw.integers(-99, 99, (m, n))
    rows = [aligned_rows(count) for count in product.signature.source_dwords]
    d = aligned_rows(product.signature.destination_dwords)
    a_bits, b_bits = (16 if kind in ("f16", "bf16") else 8 for kind in (product.kind, product.kind_b))
    if product.sparse:
        chosen = np.sort(np.argsort(draw.random((m, k // 4, 4)), axis=-1)[..., :2], axis=-1)
        mask = np.zeros((m, k // 4, 4), bool)
        np.put_along_axis(mask, chosen, True, axis=-1)
        a = np.where(mask.reshape(m, k), a, 0)
        for i, group, which in np.ndindex(m, k // 4, 2):
            at = int(chosen[i, group, which])
            lane, first = place_of_a(product, i, 4 * group)
            put(rows[0], lane, first + which, a_bits, int(codes(a[i, 4 * group + at], product.kind)))
            rows[2][0, lane] |= np.uint32(at << 2 * (first + which))
    else:
        for i, at in np.ndindex(m, k):
            put(rows[0], *place_of_a(product, i, at), a_bits, int(codes(a[i, at], product.kind)))
    for at, j in np.ndindex(k, n):
        put(rows[1], *place_of_b(product, at, j), b_bits, int(codes(b[at, j], product.kind_b)))
    numbers = (d if product.sparse else rows[2]).view(np.int32 if product.kind == "i8" else np.float32)
    for i, j in np.ndindex(m, n):
        numbers[place(product, i, j)] = before[i, j]
    return rows, d, a @ b + before


def place_of_a(product: MatrixProduct, i: int, k: int) -> tuple[int, int]:
    """Lane and element; of a sparse A the first of the two that stand for four columns from k on."""
    element = k % product.elements
    return i + product.m * (k // product.elements), element // 2 if product.sparse else element


def place_of_b(product: MatrixProduct, k: int, j: int) -> tuple[int, int]:
    return j + product.n * (k // product.elements), k % product.elements


def place(product: MatrixProduct, i: int, j: int) -> tuple[int, int]:
    if product.n == 16:
        return i % 4, 16 * (i // 4) + j
    return 4 * (i // 8) + i % 4, 32 * (i // 4) % 64 + j


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_products(product):
    rows, d, expected = operands(product, np.random.default_rng(4))
    for lanes in (library(), python_library()):
        out = aligned_rows(len(d))
        out[:] = d
        call_from_python(lanes.address(product.name), *(r.ctypes.data for r in (out, *rows)), 0, 0x30)
        numbers = out.view(np.int32 if product.kind == "i8" else np.float32)
        found = [[numbers[place(product, i, j)] for j in range(product.n)] for i in range(product.m)]
        np.testing.assert_array_equal(found, expected)


def test_every_byte_is_its_number():
    """Both formats, all of their codes, one a lane: the first column of A times one."""
    for kind in ("fp8", "bf8"):
        product = MATRIX[f"v_mfma_f32_16x16x32_{kind}_{kind}"]
        one = next(code for code in range(256) if number_of(code, kind) == 1)
        for first in range(0, 256, 16):
            rows = [aligned_rows(count) for count in product.signature.source_dwords]
            rows[0][0, :16] = np.arange(first, first + 16)
            rows[1][0, :16] = one
            for lanes in (library(), python_library()):
                d = aligned_rows(4)
                call_from_python(lanes.address(product.name), *(r.ctypes.data for r in (d, *rows)), 0, 0x30)
                found = [d.view(np.float32)[i % 4, 16 * (i // 4)] for i in range(16)]
                np.testing.assert_array_equal(found, [number_of(code, kind) for code in range(first, first + 16)])


@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_every_byte_is_converted(kind):
    """Alone, and in pairs."""
    for lanes in (library(), python_library()):
        for first in range(0, 256, LANES):
            d, a = aligned_rows(2), aligned_rows(1)
            a[0] = np.arange(first, first + LANES) | 0x4100
            wanted = [number_of(code, kind) for code in range(first, first + LANES)]
            for name, second in ((f"v_cvt_pk_f32_{kind}", number_of(0x41, kind)), (f"v_cvt_f32_{kind}", 0)):
                d[:] = 0
                call_from_python(lanes.address(name), d.ctypes.data, a.ctypes.data, 0, 0, -1, 0xF0)
                np.testing.assert_array_equal(d[0].view(np.float32), wanted)
                assert (d[1].view(np.float32) == second).all()


def test_a_set_of_indices_is_chosen():
    product = MATRIX["v_smfmac_f32_16x16x32_f16"]
    rows, _, expected = operands(product, np.random.default_rng(5))
    _, d, _ = operands(product, np.random.default_rng(5))
    before = np.array([[d.view(np.float32)[place(product, i, j)] for j in range(16)] for i in range(16)])
    words = np.zeros((8, 64), np.uint32)
    words[:2], words[2:6], words[6] = rows[0], rows[1], rows[2][0] << 8 | 0xFF
    out = run(SPARSE, words).view(np.float32)
    found = np.array([[out[place(product, i, j)] for j in range(16)] for i in range(16)])
    np.testing.assert_array_equal(found, expected - before + 1)


def test_products_whose_rounding_is_not_published_have_no_semantics():
    missing = {
        opcode.mnemonic
        for opcode in ARCHITECTURES["gfx942"].opcodes()
        if "matrix" in opcode.flags and opcode.operation not in MATRIX
    }
    assert missing == {"v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32"}
