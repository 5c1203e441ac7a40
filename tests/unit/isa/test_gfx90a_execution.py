"""Does what gfx90a adds to gfx908 do what AMD's CDNA 2 ISA manual says? Packed FP32, doubles, one register file."""

from pathlib import Path
from typing import Any

import numpy as np

from isa.device_memory import DeviceMemory
from isa.execution.emulator import run_functional
from isa.launch import Launch
from tests.support.assembly import Assembly

ASSEMBLY = Assembly(Path(__file__).resolve().parents[2] / "data" / "isa" / "gfx90a_execution.hsaco", gpu="gfx90a")
ADDRESS = 0x1_0000_1000  # of a memory's first allocation
OUT = 1 << 14  # bytes from there on: results, rows of 64 dwords

# s[2:3]: that address; v30: four times the lane; v[4:11]: the memory's first eight rows
_START = (
    f"    s_mov_b32 s2, {ADDRESS & 0xFFFFFFFF:#x}\n    s_mov_b32 s3, 1\n    v_lshlrev_b32 v30, 2, v0\n"
    + "".join(f"    global_load_dword v{4 + row}, v30, s[2:3] offset:{256 * row}\n" for row in range(8))
    + "    s_waitcnt vmcnt(0)\n    s_mov_b32 s4, 2.0\n    s_mov_b32 s5, 0.5\n"
)


def store(row: int, register: str) -> str:
    return f"    v_add_u32 v31, 0x{OUT + 256 * row:x}, v30\n    global_store_dword v31, {register}, s[2:3]\n"


def pairs(*firsts: int) -> str:
    return "".join(store(2 * k + half, f"v{first + half}") for k, first in enumerate(firsts) for half in (0, 1))


PACKED = ASSEMBLY.kernel(
    "packed",
    _START
    + "    v_pk_fma_f32 v[12:13], v[4:5], v[6:7], v[8:9]\n"
    + "    v_pk_fma_f32 v[14:15], v[4:5], v[6:7], v[8:9] op_sel:[1,0,0] op_sel_hi:[0,1,1]"
    + " neg_lo:[1,0,0] neg_hi:[0,0,1]\n"
    + "    v_pk_mul_f32 v[16:17], v[4:5], s[4:5]\n"
    + "    v_pk_add_f32 v[18:19], v[4:5], v[6:7] op_sel_hi:[1,0]\n"
    + "    v_pk_mul_f32 v[20:21], v[4:5], 4.0 op_sel_hi:[1,0]\n"
    + "    v_pk_mov_b32 v[22:23], v[4:5], v[6:7] op_sel:[1,0]\n"
    + "    v_mov_b32_dpp v24, v4 row_newbcast:3 row_mask:0xf bank_mask:0xf\n    v_mul_legacy_f32 v25, v4, v5\n"
    + "    v_pk_mov_b32 v[26:27], 1.0, 2.0\n    v_pk_mov_b32 v[28:29], v[4:5], 0 op_sel:[1,0]\n"
    + pairs(12, 14, 16, 18, 20, 22, 24, 26, 28)
    + "    s_endpgm\n",
    vgprs=32,
)
DOUBLES = ASSEMBLY.kernel(
    "doubles",
    _START
    + "    v_accvgpr_write_b32 a0, v8\n    v_accvgpr_write_b32 a1, v9\n    v_accvgpr_mov_b32 a2, a0\n"
    + "    v_mfma_f64_4x4x4f64 v[12:13], v[4:5], v[6:7], a[0:1]\n".replace("a[0:1]", "v[8:9]")
    + "    v_mfma_f64_4x4x4f64 a[4:5], v[4:5], v[6:7], 0\n    s_nop 15\n    s_nop 15\n"
    + "    v_mov_b32 v14, v8\n    v_mov_b32 v15, v9\n    v_fmac_f64 v[14:15], v[4:5], v[6:7]\n"
    + pairs(12, 14)
    + store(4, "a4")
    + store(5, "a5")
    + store(6, "a2")
    + "    v_lshlrev_b32 v29, 3, v0\n    v_add_u32 v28, 0x1000, v29\n"
    + "    global_atomic_add_f64 v28, v[4:5], s[2:3]\n    s_waitcnt vmcnt(0)\n"
    + "    global_atomic_max_f64 v28, v[6:7], s[2:3]\n    s_waitcnt vmcnt(0)\n"
    + "    ds_write_b64 v29, v[8:9]\n    s_waitcnt lgkmcnt(0)\n    ds_add_f64 v29, v[4:5]\n    s_waitcnt lgkmcnt(0)\n"
    + "    ds_read_b64 a[6:7], v29\n    s_waitcnt lgkmcnt(0)\n"
    + store(7, "a6")
    + store(8, "a7")
    + "    s_endpgm\n",
    vgprs=48,
    lds_bytes=512,
)
WIDE_DPP = ASSEMBLY.kernel(
    "wide_dpp",
    _START
    + "    v_mov_b32 v14, v8\n    v_mov_b32 v15, v9\n    s_nop 1\n    v_cvt_f32_f64_dpp v12, v[4:5] row_newbcast:2"
    + " row_mask:0xf bank_mask:0xf\n    v_fmac_f64_dpp v[14:15], v[4:5], v[6:7] row_newbcast:5 row_mask:0xb"
    + " bank_mask:0xf\n    v_cvt_f64_i32_dpp v[16:17], v10 row_newbcast:15 row_mask:0xf bank_mask:0xf\n"
    + pairs(14, 16)
    + store(4, "v12")
    + "    s_endpgm\n",
    vgprs=32,
)
# 0.5 * denormal: 2 ** -133 in BF16, and 2 ** -15 of FP16, which is one too
FLUSHED = ASSEMBLY.kernel(
    "flushed",
    _START
    + "    v_mfma_f32_4x4x4bf16_1k v[12:15], v[4:5], v[6:7], 0\n    s_nop 15\n"
    + "    v_mfma_f32_4x4x4f16 v[16:19], v[8:9], v[6:7], 0\n    s_nop 15\n"
    + store(0, "v12")
    + store(1, "v16")
    + "    s_endpgm\n",
    vgprs=32,
)
IDS = ASSEMBLY.kernel(
    "ids",
    "    v_and_b32 v1, 0x3ff, v0\n    v_bfe_u32 v2, v0, 10, 10\n    v_bfe_u32 v3, v0, 20, 10\n"
    + "    v_lshlrev_b32 v4, 3, v2\n    v_lshl_add_u32 v4, v3, 5, v4\n    v_add_u32 v30, v4, v1\n"
    + "    v_lshlrev_b32 v30, 2, v30\n"
    + f"    s_mov_b32 s2, {ADDRESS & 0xFFFFFFFF:#x}\n    s_mov_b32 s3, 1\n"
    + store(0, "v0")
    + "    s_endpgm\n",
    vgprs=32,
    more="        .amdhsa_system_vgpr_workitem_id 2\n",
)


def prepared(name: str, words: np.ndarray, shape: tuple[int, int, int] = (64, 1, 1)) -> tuple[Launch, Any]:
    memory = DeviceMemory(1 << 20)
    block = memory.allocate(1 << 16, "all")
    assert block.address == ADDRESS
    memory.view(block)[: words.nbytes] = words.view(np.uint8).ravel()
    return Launch(ASSEMBLY[name], memory, b"", shape, shape), block


def run(name: str, words: np.ndarray, shape: tuple[int, int, int] = (64, 1, 1)) -> np.ndarray:
    """The memory's rows of 64 dwords after the kernel has run."""
    launch, block = prepared(name, words, shape)
    run_functional(launch)
    return np.asarray(launch.memory.view(block)).view(np.uint32).reshape(-1, 64)


def test_pairs_of_fp32():
    f = np.random.default_rng(5).integers(-16, 16, (8, 64)).astype(np.float32)
    out = run(PACKED, f.view(np.uint32))[OUT // 256 :]
    expected = [
        f[0] * f[2] + f[4],
        f[1] * f[3] + f[5],
        -f[1] * f[2] + f[4],
        f[0] * f[3] - f[5],
        f[0] * np.float32(2),
        f[1] * np.float32(0.5),
        f[0] + f[2],
        f[1] + f[2],
        4 * f[0],
        4 * f[1],
        f[1],
        f[2],
        f[0].reshape(4, 16)[:, 3].repeat(16),
        np.where((f[0] == 0) | (f[1] == 0), 0, f[0] * f[1]),
        *(np.full(64, one, np.float32) for one in (1, 2)),
        f[1],
        np.zeros(64, np.float32),
    ]
    np.testing.assert_array_equal(out[: len(expected)].view(np.float32), expected)


def rows_of(doubles: np.ndarray) -> np.ndarray:
    """Pairs of register rows: uint32 [2 * numbers, 64]."""
    return np.ascontiguousarray(doubles.view(np.uint32).reshape(-1, 64, 2).transpose(0, 2, 1)).reshape(-1, 64)


def doubles_of(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows.reshape(-1, 2, 64).transpose(0, 2, 1)).view(np.float64)[..., 0]


def test_doubles_and_one_register_file():
    a, b, c = np.random.default_rng(6).integers(-16, 16, (3, 64)).astype(np.float64)
    words = np.zeros((32, 64), np.uint32)
    words[:6] = rows_of(np.stack((a, b, c)))
    words[16:18] = np.full(64, 3.0).view(np.uint32).reshape(2, 64)
    memory = run(DOUBLES, words)
    out = memory[OUT // 256 :]
    # lane: 16 k + 4 block + i of A, + j of B; 16 i + 4 block + j of C and D
    product = np.einsum("kbi,kbj->ibj", a.reshape(4, 4, 4), b.reshape(4, 4, 4)).ravel()
    np.testing.assert_array_equal(doubles_of(out[:2])[0], product + c)
    np.testing.assert_array_equal(doubles_of(out[2:4])[0], a * b + c)
    np.testing.assert_array_equal(doubles_of(out[4:6])[0], product)
    np.testing.assert_array_equal(out[6], words[4])
    np.testing.assert_array_equal(memory[16:18].ravel().view(np.float64), np.maximum(a + 3, b))
    np.testing.assert_array_equal(doubles_of(out[7:9])[0], c + a)


def test_doubles_of_one_lane_for_a_row():
    """DPP of 64 bits: row_newbcast gives sixteen lanes what one of them has."""
    a, b, c = np.random.default_rng(7).integers(-16, 16, (3, 64)).astype(np.float64)
    words = np.zeros((8, 64), np.uint32)
    words[:6] = rows_of(np.stack((a, b, c)))
    words[6] = np.arange(64)
    out = run(WIDE_DPP, words)[OUT // 256 :]
    of_row = np.arange(64) // 16 * 16
    masked = of_row == 32  # row 2 is not written
    np.testing.assert_array_equal(doubles_of(out[:2])[0], np.where(masked, c, a[of_row + 5] * b + c))
    np.testing.assert_array_equal(doubles_of(out[2:4])[0], of_row + 15)
    np.testing.assert_array_equal(out[4].view(np.float32), a[of_row + 2].astype(np.float32))


def test_denormals_of_fp16_and_bf16_are_flushed():
    words = np.zeros((8, 64), np.uint32)
    words[0] = 0x0001_0001  # of BF16
    words[2] = 0x3F80_3F80  # 1.0 of BF16, nearly 2 of FP16
    words[4] = 0x0200_0200  # of FP16
    out = run(FLUSHED, words)[OUT // 256 :]
    assert not out[:2].any()


def test_work_item_ids_are_packed():
    out = run(IDS, np.zeros(4, np.uint32), (8, 4, 2))[OUT // 256]
    z, y, x = np.mgrid[:2, :4, :8]
    np.testing.assert_array_equal(out, (x | y << 10 | z << 20).ravel())
