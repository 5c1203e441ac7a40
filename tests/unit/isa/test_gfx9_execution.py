"""Do GFX9's memory forms, halves, calls and wave states do what the Vega ISA manual says? One kernel a subject."""

from pathlib import Path

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import residency
from gpusim.model.core.simulator import simulate
from isa.checking.checker import checked
from isa.device_memory import Allocation, DeviceMemory
from isa.encoding.decoder import DecodeError, decode_one
from isa.execution.emulator import run_functional
from isa.execution.faults import ExecutionFault
from isa.launch import Launch
from isa.object.code_object import CodeObjectError
from isa.opcodes import ARCHITECTURES
from tests.support.assembly import Assembly

ASSEMBLY = Assembly(Path(__file__).resolve().parents[2] / "data" / "isa" / "gfx9_execution.hsaco", gpu="gfx906")
GPU = GpuSpec(architecture="gfx906")
LANE = np.arange(64, dtype=np.int64)
OUT = 1 << 14  # bytes from the allocation's start

ADDRESS = 0x1_0000_1000  # of a memory's first allocation


# s[2:3]: that; v0: the lane; v30: four times the lane; results: rows of 64 dwords from OUT on
def _kernel(name: str, text: str, **more: int) -> str:
    return ASSEMBLY.kernel(name, f"    s_mov_b32 s2, {ADDRESS & 0xFFFFFFFF:#x}\n    s_mov_b32 s3, 1\n" + text, **more)


def store(row: int, register: str) -> str:
    """Write a vector register's lanes as a row of results."""
    return f"    v_add_u32 v31, 0x{OUT + 256 * row:x}, v30\n    global_store_dword v31, {register}, s[2:3]\n"


LANES = "    v_lshlrev_b32 v30, 2, v0\n"
END = "    s_endpgm\n"

GLOBAL = _kernel(
    "global_forms",
    LANES
    + "    v_mov_b32 v2, s2\n    v_mov_b32 v3, s3\n    v_add_co_u32 v2, vcc, v2, v30\n"
    + "    v_addc_co_u32 v3, vcc, 0, v3, vcc\n"
    + "    global_load_dword v4, v[2:3], off offset:16\n"  # 4 lanes further
    + "    v_add_co_u32 v6, vcc, 0x100, v2\n    v_addc_co_u32 v7, vcc, 0, v3, vcc\n"
    + "    global_load_dword v5, v[6:7], off offset:-256\n"
    + "    global_load_dword v8, v30, s[2:3] offset:2048\n"
    + "    flat_load_dword v9, v[2:3] offset:4092\n"
    + "    s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    + "".join(store(i, r) for i, r in enumerate(("v4", "v5", "v8", "v9")))
    + "    v_mov_b32 v10, 3\n    global_atomic_add v11, v30, v10, s[2:3] offset:1024 glc\n    s_waitcnt vmcnt(0)\n"
    + "    global_load_dword v12, v30, s[2:3] offset:1024\n    s_waitcnt vmcnt(0)\n"
    + store(4, "v11")
    + store(5, "v12")
    + END,
    vgprs=32,
)

HALVES = _kernel(
    "half_loads",
    LANES
    + "".join(f"    v_mov_b32 v{r}, 0x1111aaaa\n" for r in range(4, 10))
    + "    global_load_short_d16 v4, v30, s[2:3]\n    global_load_short_d16_hi v5, v30, s[2:3]\n"
    + "    global_load_ubyte_d16 v6, v30, s[2:3] offset:3\n    global_load_sbyte_d16_hi v7, v30, s[2:3] offset:3\n"
    + "    global_load_dword v10, v30, s[2:3]\n    s_waitcnt vmcnt(0)\n"
    + "    ds_write_b32 v30, v10\n    ds_write_b16_d16_hi v30, v10 offset:256\n"
    + "    ds_write_b8_d16_hi v30, v10 offset:258\n"
    + "    s_waitcnt lgkmcnt(0)\n    ds_read_u16_d16_hi v8, v30\n    ds_read_i8_d16 v9, v30 offset:3\n"
    + "    ds_read_b32 v11, v30 offset:256\n    s_waitcnt lgkmcnt(0)\n"
    + "".join(store(i, f"v{r}") for i, r in enumerate((4, 5, 6, 7, 8, 9, 11)))
    + "    global_store_short_d16_hi v30, v10, s[2:3] offset:2048\n"
    + "    s_waitcnt vmcnt(0)\n    global_load_dword v12, v30, s[2:3] offset:2048\n    s_waitcnt vmcnt(0)\n"
    + store(7, "v12")
    + "    s_mov_b32 m0, 512\n    s_nop 0\n    ds_write_addtid_b32 v10 offset:4\n    s_waitcnt lgkmcnt(0)\n"
    + "    ds_read_b32 v13, v30 offset:516\n    ds_read_addtid_b32 v14 offset:4\n    s_waitcnt lgkmcnt(0)\n"
    + store(8, "v13")
    + store(9, "v14")
    + END,
    vgprs=32,
    lds_bytes=1024,
)

VECTOR = _kernel(
    "vector_forms",
    LANES
    + "    global_load_dword v4, v30, s[2:3]\n    global_load_dword v5, v30, s[2:3] offset:256\n"
    + "    s_waitcnt vmcnt(0)\n    v_mov_b32 v6, v4\n    v_mov_b32 v7, v5\n    v_swap_b32 v6, v7\n"
    + store(0, "v6")
    + store(1, "v7")
    + "    v_add_u32 v8, v4, v5\n    v_sub_u32 v9, v4, v5\n"
    + store(2, "v8")
    + store(3, "v9")
    + "    v_mov_b32 v10, 0x55550000\n    v_mad_u16 v10, v4, v5, v4 op_sel:[1,0,1,0]\n"
    + store(4, "v10")
    + "    v_mov_b32 v11, 0x5555\n    v_add_i16 v11, v4, v5 op_sel:[0,1,1]\n"
    + store(5, "v11")
    + "    v_pk_add_u16 v12, v4, v5 op_sel:[1,0] op_sel_hi:[0,1]\n"
    + store(6, "v12")
    + "    v_cmp_lt_u16_sdwa s[8:9], v4, v5 src0_sel:WORD_1 src1_sel:WORD_0\n    v_cndmask_b32 v13, 0, 1, s[8:9]\n"
    + store(7, "v13")
    + "    s_mov_b32 s10, 0x12345678\n    v_add_u32_sdwa v14, v4, s10 dst_sel:DWORD src0_sel:BYTE_1 src1_sel:WORD_1\n"
    + store(8, "v14")
    + "    v_dot4_i32_i8 v15, v4, v5, v0\n"
    + store(9, "v15")
    + END,
    vgprs=32,
)

SCALAR = _kernel(
    "scalar_forms",
    LANES
    + "    s_movk_i32 s8, 0x10\n    s_load_dword s9, s[2:3], s8 offset:0x20\n"
    + "    s_load_dword s10, s[2:3], s8\n    s_waitcnt lgkmcnt(0)\n    v_mov_b32 v4, s9\n    v_mov_b32 v5, s10\n"
    + store(0, "v4")
    + store(1, "v5")
    + "    s_mov_b32 s11, 1\n    s_call_b64 s[12:13], .Lcalled\n    s_add_u32 s11, s11, 4\n"
    + "    v_mov_b32 v6, s11\n"
    + store(2, "v6")
    + "    s_mov_b64 s[14:15], src_shared_base\n    v_mov_b32 v7, s15\n"
    + store(3, "v7")
    + "    s_getreg_b32 s14, hwreg(HW_REG_SH_MEM_BASES)\n    v_mov_b32 v8, s14\n"
    + store(4, "v8")
    + "    s_mov_b64 s[8:9], exec\n    s_mov_b64 s[14:15], 0xf0\n    s_andn2_wrexec_b64 s[10:11], s[14:15]\n"
    + "    s_mov_b64 exec, s[8:9]\n    v_mov_b32 v9, s10\n"
    + store(5, "v9")
    + END
    + ".Lcalled:\n    s_lshl2_add_u32 s11, s11, 8\n    s_setpc_b64 s[12:13]\n",
    vgprs=32,
    sgprs=24,
)

_STORES = LANES + "    v_mov_b32 v4, 0xf00000\n    v_cmp_gt_u32 vcc, 8, v0\n    v_cndmask_b32 v4, v4, v30, vcc\n"
PAST = _kernel(
    "stores_past_lds",
    _STORES
    + "    ds_write_b32 v4, v0 offset:64\n    ds_write2_b32 v4, v0, v30 offset0:80 offset1:96\n"
    + "    s_waitcnt lgkmcnt(0)\n    ds_read_b32 v5, v30 offset:64\n    ds_read_b32 v6, v30 offset:384\n"
    + "    s_waitcnt lgkmcnt(0)\n"
    + store(0, "v5")
    + store(1, "v6")
    + END,
    vgprs=32,
    lds_bytes=1024,
)
WRONG = _kernel(
    "stores_past_the_allocation",
    _STORES + "    ds_write_b32 v4, v0 offset:1000\n" + END,
    vgprs=32,
    lds_bytes=1024,
)
HALF_REGISTERS = _kernel(
    "half_registers",
    LANES
    + "    v_fma_mixlo_f16 v4, v0, v0, v0\n    global_store_short v30, v4, s[2:3]\n"
    + "    global_load_short_d16_hi v5, v30, s[2:3] offset:1024\n    s_waitcnt vmcnt(0)\n"
    + "    global_store_short_d16_hi v30, v5, s[2:3] offset:2\n"
    + END,
    vgprs=32,
)
# rows of LDS from byte 16 on: one a load, whose dwords lie by M0, the offset and the lane
INTO_LDS = _kernel(
    "loads_into_lds",
    LANES
    + "    s_mov_b32 s8, s2\n    s_mov_b32 s9, s3\n    s_mov_b32 s10, 192\n    s_mov_b32 s11, 0x27004\n"
    + "    s_mov_b32 s12, 64\n    s_mov_b32 m0, 8\n    v_mov_b32 v2, s2\n    v_add_u32 v2, 0x100, v2\n"
    + "    v_mov_b32 v3, s3\n    v_mov_b32 v5, 7\n"
    + "    buffer_load_dword v30, s[8:11], 0 offen offset:8 lds\n"  # lanes from 46 on are out of range
    + "    s_mov_b32 m0, 272\n    s_mov_b32 s10, 0x1000\n    buffer_load_sbyte v30, s[8:11], s12 offen lds\n"
    + "    s_mov_b32 m0, 524\n    s_nop 0\n    global_load_dword v30, s[2:3] offset:4 lds\n"
    + "    v_mov_b32 v6, 0\n    ds_write_b32 v30, v6 offset:784\n    s_waitcnt lgkmcnt(0)\n"
    + "    s_mov_b32 m0, 0x00f00410\n    s_mov_b64 exec, 0xffff\n    global_load_ushort v[2:3], off offset:-256 lds\n"
    + "    s_mov_b64 exec, -1\n    s_mov_b32 m0, 1040\n    s_movk_i32 s10, 64\n    s_or_b32 s9, s9, 4 << 16\n"
    + "    buffer_load_format_x v0, s[8:11], 0 idxen lds\n    s_waitcnt vmcnt(0)\n"
    + "".join(f"    ds_read_b32 v{6 + i}, v30 offset:{16 + 256 * i}\n" for i in range(5))
    + "    s_waitcnt lgkmcnt(0)\n"
    + "".join(store(i, f"v{6 + i}") for i in range(5))
    + store(5, "v5")
    + END,
    vgprs=32,
    lds_bytes=2048,
)
OUT_OF_LDS = _kernel(
    "loads_past_lds",
    LANES
    + "    s_mov_b32 m0, 0x600\n    s_nop 0\n    global_load_dword v30, s[2:3] offset:256 lds\n    s_waitcnt vmcnt(0)\n"
    + END,
    vgprs=32,
    lds_bytes=2040,
)
# records of 5 bytes, a byte and a dword; then of 11, a byte and two dwords and two bytes
UNALIGNED = _kernel(
    "unaligned_lds",
    LANES
    + "    s_mov_b32 s8, 0x9e3779b1\n    v_mul_lo_u32 v5, v0, s8\n    v_not_b32 v6, v5\n"
    + "    v_mul_u32_u24 v4, 5, v0\n    v_mul_u32_u24 v10, 11, v0\n    v_add_u32 v11, 1, v10\n"
    + "    ds_write_b8 v4, v0\n    ds_write_b32 v4, v5 offset:1\n    s_waitcnt lgkmcnt(0)\n"
    + "    ds_read_b32 v7, v4 offset:1\n    ds_read_u16 v8, v4 offset:1\n    ds_read_b32 v9, v4\n"
    + "    ds_write_b64 v10, v[5:6] offset:1\n    ds_write_b16 v10, v0 offset:9\n    s_waitcnt lgkmcnt(0)\n"
    + "    ds_read2_b32 v[12:13], v11 offset0:1 offset1:0\n    ds_read_b64 v[14:15], v10 offset:1\n"
    + "    ds_read_b64 v[16:17], v10 offset:3\n    s_waitcnt lgkmcnt(0)\n"
    + "".join(store(i, f"v{r}") for i, r in enumerate((7, 8, 9, 12, 13, 14, 15, 16, 17)))
    + END,
    vgprs=32,
    lds_bytes=1024,
)
MISALIGNED_ATOMIC = _kernel(
    "misaligned_atomic", LANES + "    ds_add_u32 v30, v0 offset:2\n" + END, vgprs=32, lds_bytes=512
)
# a scalar load of four dwords from a buffer that ends after two
SCALAR_RANGE = _kernel(
    "scalar_range",
    LANES
    + "    s_mov_b32 s8, s2\n    s_mov_b32 s9, s3\n    s_mov_b32 s10, 72\n    s_mov_b32 s11, 0x27004\n"
    + "    s_buffer_load_dwordx4 s[12:15], s[8:11], 0x40\n    s_waitcnt lgkmcnt(0)\n"
    + "".join(f"    v_mov_b32 v{4 + i}, s{12 + i}\n" for i in range(4))
    + "".join(store(i, f"v{4 + i}") for i in range(4))
    + END,
    vgprs=32,
    sgprs=24,
)
# two wavefronts that bring different words to the same place
RACING = _kernel(
    "races_into_lds",
    LANES + "    s_mov_b32 m0, 0\n    s_nop 0\n    global_load_dword v30, s[2:3] lds\n    s_waitcnt vmcnt(0)\n" + END,
    vgprs=32,
    lds_bytes=256,
)
NEVER_WRITTEN = _kernel("never_written", LANES + "    global_store_dword v30, v4, s[2:3]\n" + END, vgprs=32)


def prepared(name: str, memory_words: np.ndarray, size: int = 64) -> tuple[Launch, Allocation]:
    memory = DeviceMemory(1 << 20)
    block = memory.allocate(1 << 16, "all")
    assert block.address == ADDRESS
    memory.view(block)[: memory_words.nbytes] = memory_words.view(np.uint8)
    return Launch(ASSEMBLY[name], memory, b"", (size, 1, 1), (size, 1, 1)), block


def rows(name: str, memory_words: np.ndarray) -> np.ndarray:
    launch, block = prepared(name, memory_words)
    memory = launch.memory
    run_functional(launch)
    return np.asarray(memory.view(block)[OUT : OUT + 256 * 16]).view(np.uint32).reshape(16, 64).astype(np.int64)


WORDS = np.random.default_rng(9).integers(0, 1 << 32, 2048, dtype=np.uint32)
W = WORDS.astype(np.int64)
ROW0, ROW1 = W[:64], W[64:128]
M16, M32 = 0xFFFF, 0xFFFFFFFF


def signed(values: np.ndarray, bits: int) -> np.ndarray:
    return np.where(values >> (bits - 1) & 1, values - (1 << bits), values)


def test_segments():
    found = rows(GLOBAL, WORDS)
    for row, first in enumerate((4, 0, 512, 1023)):
        np.testing.assert_array_equal(found[row], W[first : first + 64])
    np.testing.assert_array_equal(found[4], W[256:320])
    np.testing.assert_array_equal(found[5], W[256:320] + 3 & M32)


def test_halves_are_loaded_and_stored():
    found = rows(HALVES, WORDS)
    low, byte = ROW0 & M16, ROW0 >> 24
    sign = signed(byte, 8) & M16
    expected = [
        0x11110000 | low,
        low << 16 | 0xAAAA,
        0x11110000 | byte,
        sign << 16 | 0xAAAA,
        low << 16 | 0xAAAA,
        0x11110000 | sign,
        ROW0 >> 16 | (ROW0 >> 16 & 0xFF) << 16,
        W[512:576] >> 16 << 16 | ROW0 >> 16,
        ROW0,
        ROW0,
    ]
    for row, wanted in enumerate(expected):
        np.testing.assert_array_equal(found[row], wanted, err_msg=f"row {row}")


def test_vector_instructions():
    found = rows(VECTOR, WORDS)
    a, b = ROW0, ROW1
    high = (a & M16) + (b >> 16) & M16
    packed = (a >> 16) + (b & M16) & M16 | ((a & M16) + (b >> 16) & M16) << 16
    dot = sum(signed(a >> p & 255, 8) * signed(b >> p & 255, 8) for p in (0, 8, 16, 24)) + LANE
    expected = [
        b,
        a,
        a + b & M32,
        a - b & M32,
        0x55550000 | ((a >> 16) * (b & M16) + (a >> 16) & M16),
        high << 16 | 0x5555,
        packed,
        ((a >> 16) < (b & M16)).astype(np.int64),
        (a >> 8 & 255) + 0x1234,
        dot & M32,
    ]
    for row, wanted in enumerate(expected):
        np.testing.assert_array_equal(found[row], wanted, err_msg=f"row {row}")


def test_scalar_instructions():
    found = rows(SCALAR, WORDS)
    expected = [W[12], W[4], 4 + 8 + 4, 0x0001_0000, 0x0001_0002, 0]
    for row, wanted in enumerate(expected):
        np.testing.assert_array_equal(found[row], np.full(64, wanted), err_msg=f"row {row}")


def test_stores_past_all_lds_are_dropped():
    found = rows(PAST, WORDS)
    np.testing.assert_array_equal(found[0], np.where(LANE < 8, LANE, 0))
    np.testing.assert_array_equal(found[1], np.where(LANE < 8, 4 * LANE, 0))


def test_stores_past_the_allocation_are_faults():
    with pytest.raises(ExecutionFault, match=r"outside the workgroup's LDS.* lane 6, address 0x400"):
        rows(WRONG, WORDS)


def test_loads_into_lds():
    """A dword a lane at M0[15:0] + offset + 4 lanes; lanes out of a buffer's range bring zeros."""
    found = rows(INTO_LDS, WORDS)
    byte, halves = W[16:80] & 255, np.where(LANE < 16, W[0] & M16, 0)
    expected = [np.where(LANE < 46, W[2:66], 0), signed(byte, 8) & M32, W[1:65], halves, W[:64], np.full(64, 7)]
    for row, wanted in enumerate(expected):
        np.testing.assert_array_equal(found[row], wanted, err_msg=f"row {row}")


@pytest.mark.parametrize(("name", "lanes", "first"), [(WRONG, 2, "lane 6, address 0x400"), (OUT_OF_LDS, 2, "0x7f8")])
def test_what_goes_past_lds_is_dropped_and_noted_where_the_memory_says_so(name: str, lanes: int, first: str):
    launch, _ = prepared(name, WORDS)
    launch.memory.drops_lds = True
    run_functional(launch)
    (stray,) = launch.memory.strays
    assert (stray.kind, stray.lanes) == ("LDS store", lanes) and first in stray.text, stray


def test_lds_takes_any_address():
    """Packed structures in LDS: compilers access their dwords where they lie."""
    found = rows(UNALIGNED, WORDS)
    word = LANE * 0x9E3779B1 & M32
    expected = [word, word & M16, LANE | word << 8 & M32, word ^ M32, word, word, word ^ M32]
    high, low = (word ^ M32) >> 16, (word ^ M32) & M16
    expected += [word >> 16 | low << 16, high | LANE << 16]
    for row, wanted in enumerate(expected):
        np.testing.assert_array_equal(found[row], wanted, err_msg=f"row {row}")
    with pytest.raises(ExecutionFault, match=r"misaligned access.* lane 0, address 0x2 \(4 bytes\)"):
        rows(MISALIGNED_ATOMIC, WORDS)


def test_scalar_loads_past_a_buffer_give_zeros():
    for row, wanted in enumerate((W[16], W[17], 0, 0)):
        np.testing.assert_array_equal(rows(SCALAR_RANGE, WORDS)[row], np.full(64, wanted), err_msg=f"row {row}")


def test_loads_past_a_workgroups_lds_are_faults():
    with pytest.raises(ExecutionFault, match=r"outside the workgroup's LDS.* lane 62, address 0x7f8"):
        rows(OUT_OF_LDS, WORDS)


def test_loads_into_lds_are_timed():
    launch, _ = prepared(INTO_LDS, WORDS)
    assert simulate(launch, GPU).l1.read_transactions == 3 + 4 + 5 + 1 + 4


def test_a_later_instruction_is_named_with_its_generation():
    word = ASSEMBLY["vector_forms"].code.index((0xD3A80000).to_bytes(4, "little")[2:]) - 2
    code = ASSEMBLY["vector_forms"].code[word : word + 8]  # v_dot4_i32_i8
    with pytest.raises(DecodeError, match=r"v_dot4_i32_i8: gfx906 .GFX9. and later; this GPU is gfx900"):
        decode_one(code, 0, 0, 8, ARCHITECTURES["gfx900"])
    with pytest.raises(DecodeError, match=r"v_dot4_i32_i8: gfx906 .GFX9. and later; this GPU is gfx803"):
        decode_one(code, 0, 0, 8)


def test_code_of_another_gpu_is_refused_with_what_could_run_it():
    launch = Launch(ASSEMBLY["scalar_forms"], DeviceMemory(1 << 20), b"", (64, 1, 1), (64, 1, 1))
    with pytest.raises(CodeObjectError, match=r"is built for gfx906, and the GPU MI6 executes gfx803: .*gfx906"):
        simulate(launch, GpuSpec())


@pytest.mark.skipif(JIT_DISABLED, reason="as of test_checking")
def test_a_check_knows_segments_and_halves_of_registers():
    """What an instruction leaves of a register is not read by it: stored, one half is as good as written."""
    for name in (GLOBAL, VECTOR, SCALAR, HALF_REGISTERS, INTO_LDS):
        launch, _ = prepared(name, WORDS)
        assert [one.text for one in checked(launch, residency(launch, GPU)).findings] == [], name
    launch, _ = prepared(RACING, WORDS, size=128)
    assert [one.kind for one in checked(launch, residency(launch, GPU)).findings] == ["race"]
    launch, _ = prepared(NEVER_WRITTEN, WORDS)
    assert [one.kind for one in checked(launch, residency(launch, GPU)).findings] == ["unwritten"]
