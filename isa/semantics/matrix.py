"""Matrix products, and what their modifiers do to A and B (AMD CDNA 1 ISA manual, section 8.1; `isa.lanes.matrix`).

CBSZ and ABID let blocks share one block's A: 2 ** CBSZ neighbours take that of the one with number ABID among them.
BLGP moves the lanes of B.
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.matrix import matrix_product
from isa.lanes.table import MATRIX, vop

_NAMES = """
f32_32x32x1f32 f32_16x16x1f32 f32_4x4x1f32 f32_32x32x2f32 f32_16x16x4f32
f32_32x32x4f16 f32_16x16x4f16 f32_4x4x4f16 f32_32x32x8f16 f32_16x16x16f16
i32_32x32x4i8 i32_16x16x4i8 i32_4x4x4i8 i32_32x32x8i8 i32_16x16x16i8
f32_32x32x2bf16 f32_16x16x2bf16 f32_4x4x2bf16 f32_32x32x4bf16 f32_16x16x8bf16
"""
_OF_GFX90A = """
f32_32x32x4bf16_1k f32_16x16x4bf16_1k f32_4x4x4bf16_1k f32_32x32x8bf16_1k f32_16x16x16bf16_1k
"""
_OF_GFX942 = """
f32_32x32x4bf16_1k f32_16x16x4bf16_1k f32_4x4x4bf16_1k f32_32x32x8bf16_1k f32_16x16x16bf16_1k
i32_32x32x16i8 i32_16x16x32i8
"""
_EIGHTHS = [f"{a}_{b}" for a in ("bf8", "fp8") for b in ("bf8", "fp8")]
_SPARSE = """
f32_16x16x32_f16 f32_32x32x16_f16 f32_16x16x32_bf16 f32_32x32x16_bf16 i32_16x16x64_i8 i32_32x32x32_i8
"""
_OF_EIGHTHS = [f"f32_{size}_{kinds}" for size in ("16x16x32", "32x32x16") for kinds in _EIGHTHS]
_SPARSE_EIGHTHS = [f"f32_{size}_{kinds}" for size in ("16x16x64", "32x32x32") for kinds in _EIGHTHS]
_FLUSHED = [f"{name}.flush" for name in (*_NAMES.split(), *_OF_GFX90A.split()) if "f16" in name]
_ALL = (*_NAMES.split(), *_OF_GFX942.split(), *_FLUSHED, "f64_16x16x4f64", "f64_4x4x4f64", *_OF_EIGHTHS)

MATRIX |= {product.name: product for product in (matrix_product(f"v_mfma_{name}") for name in _ALL)}
MATRIX |= {p.name: p for p in (matrix_product(f"v_smfmac_{n}") for n in (*_SPARSE.split(), *_SPARSE_EIGHTHS))}


def _block_lanes(x, sharing):
    """Return the lane whose A each lane takes; sharing: CBSZ | ABID << 3 | log2 of the lanes of a block << 8."""
    sharing_bits, chosen, width = sharing & 7, sharing >> 3 & 15, sharing >> 8
    block, within = x.lane() >> width, x.lane() & ((x.u32(1) << width) - 1)
    return ((((block >> sharing_bits) << sharing_bits) + chosen) << width) | within


vop("row_share_blocks", "row imm -> u32")(lambda x, sharing: x.gather("a", _block_lanes(x, sharing) & 63))


@vop("row_share_blocks_x2", "row imm -> u32x2")
def row_share_blocks_x2(x, sharing):
    lanes = _block_lanes(x, sharing) & 63
    return x.gather("a", lanes), x.gather("a", lanes, 1)


vop("row_index_set", "u32 imm -> u32")(lambda x, a, place: a >> place)


def _permuted_lanes(x, pattern):
    """Return the lane whose B each lane takes, by BLGP.

    1 and 2: one half of the lanes for both; 3: sixteen lanes on; from 4 on: one quarter for all.
    """
    lane = x.lane()
    quarter = (pattern & 3) << 4 | lane & 15
    half = x.select(pattern == 2, lane | 32, lane & 31)
    return x.select(pattern > 3, quarter, x.select(pattern == 3, (lane + 16) & 63, half))


vop("row_permute_blocks", "row imm -> u32")(lambda x, pattern: x.gather("a", _permuted_lanes(x, pattern)))


@vop("row_permute_blocks_x2", "row imm -> u32x2")
def row_permute_blocks_x2(x, pattern):
    lanes = _permuted_lanes(x, pattern)
    return x.gather("a", lanes), x.gather("a", lanes, 1)
