"""GFX9: what Vega changes of the instruction set (Vega ISA manual, chapters 12 and 13; LLVM's tables for gfx900).

Encodings: offsets in FLAT instructions and the segments GLOBAL and SCRATCH; a signed offset beside a register in SMEM;
op_sel in VOP3; scalar sources, output modifiers and a chosen destination of comparisons in SDWA. Instructions:
additions without carry (v_add_u32 is one now, and those with carry have other names), three-operand integer
arithmetic, 16-bit forms of what had 32 bits alone, loads and stores of half a register (d16), wider scalar arithmetic.
Gone: relative moves of vector registers. Hazards: what reads M0.
A fused multiply-add has the rate of an addition (LLVM: FeatureFastFMAF32 of gfx900).
"""

from isa.opcodes.extension import Extension
from isa.opcodes.flat import FLAT
from isa.opcodes.formats import layout
from isa.opcodes.hazards import Hazard
from isa.opcodes.opcode import LDS, SALU, SMEM, VALU, VMEM, Opcode
from isa.opcodes.table import rows

_VOP2 = rows(
    "vop2",
    VALU,
    """
operands: vdst:u32 vcc src0:u32 vsrc1:u32
    0x19 v_add_co_u32 =v_add_u32 +clamp
    0x1a v_sub_co_u32 =v_sub_u32 +clamp
    0x1b v_subrev_co_u32 =v_subrev_u32 +clamp
operands: vdst:u32 vcc src0:u32 vsrc1:u32 vcc
    0x1c v_addc_co_u32 =v_addc_u32 +clamp
    0x1d v_subb_co_u32 =v_subb_u32 +clamp
    0x1e v_subbrev_co_u32 =v_subbrev_u32 +clamp
operands: vdst:u32 src0:u32 vsrc1:u32
    0x34 v_add_u32 =v_add_nc_u32 +clamp
    0x35 v_sub_u32 =v_sub_nc_u32 +clamp
    0x36 v_subrev_u32 =v_subrev_nc_u32 +clamp
operands: vdst:f32 src0:f32 vsrc1:f32
    0x16 v_mac_f32 +no_sdwa
operands: vdst:f16 src0:f16 vsrc1:f16
    0x23 v_mac_f16 =v_mac_keep_f16 +no_sdwa
operands: vdst:f16 src0:f16 literal:f16 vsrc1:f16 +only_e32
    0x24 v_madmk_f16 =v_madmk_keep_f16
operands: vdst:f16 src0:f16 vsrc1:f16 literal:f16 +only_e32
    0x25 v_madak_f16 =v_madak_keep_f16
""",
)

_VOP1 = rows(
    "vop1",
    VALU,
    """
operands: vdst:b32 src0:b32
    0x37 v_screen_partition_4se_b32
operands: vdst:i16 src0:f16
    0x4d v_cvt_norm_i16_f16
operands: vdst:u16 src0:f16
    0x4e v_cvt_norm_u16_f16
operands: vdst:b16 src0:b32
    0x4f v_sat_pk_u8_i16
operands: vdst:b32 src0:b32 +only_e32
    0x51 v_swap_b32 +vgpr_src0
""",
)

_VOP3 = rows(
    "vop3",
    VALU,
    """
operands: vdst:f32 src0:f32 src1:f32 src2:f32
    0x1cb v_fma_f32
operands: vdst:f16 src0:f16 src1:f16 src2:f16
    0x1ea v_mad_legacy_f16 =v_mad_f16
    0x1ee v_fma_legacy_f16 =v_fma_f16
    0x1ef v_div_fixup_legacy_f16 =v_div_fixup_f16
operands: vdst:f16 src0:f16 src1:f16 src2:f16 +op_sel
    0x1f4 v_min3_f16
    0x1f7 v_max3_f16
    0x1fa v_med3_f16
    0x203 v_mad_f16 =v_mad_keep_f16
    0x206 v_fma_f16 =v_fma_keep_f16
    0x207 v_div_fixup_f16 =v_div_fixup_keep_f16
operands: vdst:u16 src0:u16 src1:u16 src2:u16
    0x1eb v_mad_legacy_u16 =v_mad_u16 +clamp
operands: vdst:i16 src0:i16 src1:i16 src2:i16
    0x1ec v_mad_legacy_i16 =v_mad_i16 +clamp
operands: vdst:u16 src0:u16 src1:u16 src2:u16 +op_sel
    0x1f6 v_min3_u16
    0x1f9 v_max3_u16
    0x1fc v_med3_u16
    0x204 v_mad_u16 =v_mad_keep_u16 +clamp
operands: vdst:i16 src0:i16 src1:i16 src2:i16 +op_sel
    0x1f5 v_min3_i16
    0x1f8 v_max3_i16
    0x1fb v_med3_i16
    0x205 v_mad_i16 =v_mad_keep_i16 +clamp
operands: vdst:u32 src0:u16 src1:u16 src2:u32 +op_sel
    0x1f1 v_mad_u32_u16 +clamp
operands: vdst:i32 src0:i16 src1:i16 src2:i32 +op_sel
    0x1f2 v_mad_i32_i16 +clamp
operands: vdst:u32 src0:u32 src1:u32 src2:u32
    0x1f3 v_xad_u32
    0x1fd v_lshl_add_u32
    0x1fe v_add_lshl_u32
    0x1ff v_add3_u32
operands: vdst:b32 src0:b32 src1:u32 src2:b32
    0x200 v_lshl_or_b32
operands: vdst:b32 src0:b32 src1:b32 src2:b32
    0x201 v_and_or_b32
    0x202 v_or3_b32
operands: vdst:b32 src0:f16 src1:f16 +op_sel
    0x299 v_cvt_pknorm_i16_f16
    0x29a v_cvt_pknorm_u16_f16
operands: vdst:i32 src0:i32 src1:i32
    0x29c v_add_i32 =v_add_nc_i32 +clamp
    0x29d v_sub_i32 =v_sub_nc_i32 +clamp
operands: vdst:i16 src0:i16 src1:i16 +op_sel
    0x29e v_add_i16 +clamp
    0x29f v_sub_i16 +clamp
operands: vdst:b32 src0:f16 src1:f16 +op_sel
    0x2a0 v_pack_b32_f16
operands: none +refused
    0x276 v_interp_p2_legacy_f16
    0x277 v_interp_p2_f16
""",
)

_SCALAR = (
    *rows(
        "sop2",
        SALU,
        """
operands: sdst:u32 ssrc0:u32 ssrc1:u32
    0x2c s_mul_hi_u32
    0x2e s_lshl1_add_u32
    0x2f s_lshl2_add_u32
    0x30 s_lshl3_add_u32
    0x31 s_lshl4_add_u32
operands: sdst:i32 ssrc0:i32 ssrc1:i32
    0x2d s_mul_hi_i32
operands: sdst:b32 ssrc0:b32 ssrc1:b32
    0x32 s_pack_ll_b32_b16
    0x33 s_pack_lh_b32_b16
    0x34 s_pack_hh_b32_b16
""",
    ),
    *rows(
        "sop1",
        SALU,
        """
operands: sdst:b64 ssrc0:b64
    0x33 s_andn1_saveexec_b64
    0x34 s_orn1_saveexec_b64
    0x35 s_andn1_wrexec_b64
    0x36 s_andn2_wrexec_b64
operands: sdst:b64 ssrc0:b32
    0x37 s_bitreplicate_b64_b32
""",
    ),
    *rows(
        "sopk",
        SALU,
        """
operands: sdst:b64 simm16:branch +branch
    0x15 s_call_b64
operands: sdst:b32 simm16:hwreg9
    0x11 s_getreg_b32
operands: simm16:hwreg9 sdst:b32
    0x12 s_setreg_b32
operands: simm16:hwreg9 literal:b32
    0x14 s_setreg_imm32_b32
""",
    ),
    *rows(
        "sopp",
        SALU,
        """
operands: simm16:waitcnt9 +internal
    0x0c s_waitcnt
operands: none
    0x1e s_endpgm_ordered_ps_done +ends_block
""",
    ),
)

_ATOMICS = ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec")


def _scalar_atomics() -> tuple[Opcode, ...]:
    """Return SMEM's atomics, whose numbers are regular: of buffers from 0x40 on, of addresses from 0x80 on."""
    made: list[Opcode] = []
    for first, prefix, base in ((0x40, "s_buffer_atomic", "b128"), (0x80, "s_atomic", "b64")):
        for wide, suffix in ((0, ""), (0x20, "_x2")):
            for number, name in enumerate(_ATOMICS):
                bits = (64 if wide else 32) * (2 if name == "cmpswap" else 1)
                line = f"operands: sdata:b{bits} sbase:{base} offset:smem +atomic"
                line += f"\n    {first + wide + number:#x} {prefix}_{name}{suffix}"
                made += rows("smem", SMEM, line)
    return tuple(made)


_SMEM = (
    *rows(
        "smem",
        SMEM,
        """
operands: sdata:b32 sbase:b64 offset:smem +load
    0x05 s_scratch_load_dword
operands: sdata:b64 sbase:b64 offset:smem +load
    0x06 s_scratch_load_dwordx2
operands: sdata:b128 sbase:b64 offset:smem +load
    0x07 s_scratch_load_dwordx4
operands: sdata:b32 sbase:b64 offset:smem +store
    0x15 s_scratch_store_dword
operands: sdata:b64 sbase:b64 offset:smem +store
    0x16 s_scratch_store_dwordx2
operands: sdata:b128 sbase:b64 offset:smem +store
    0x17 s_scratch_store_dwordx4
operands: sbase:b64 offset:smem
    0x28 s_dcache_discard
    0x29 s_dcache_discard_x2
""",
    ),
    *_scalar_atomics(),
)

_DS = rows(
    "ds",
    LDS,
    """
operands: data0:b32 +store
    0x1d ds_write_addtid_b32
operands: addr:u32 data0:b8 +store
    0x54 ds_write_b8_d16_hi +high
operands: addr:u32 data0:b16 +store
    0x55 ds_write_b16_d16_hi +high
operands: vdst:u8 addr:u32 +load +d16
    0x56 ds_read_u8_d16
    0x57 ds_read_u8_d16_hi +high
operands: vdst:i8 addr:u32 +load +d16
    0x58 ds_read_i8_d16
    0x59 ds_read_i8_d16_hi +high
operands: vdst:u16 addr:u32 +load +d16
    0x5a ds_read_u16_d16
    0x5b ds_read_u16_d16_hi +high
operands: vdst:b32 +load
    0xb6 ds_read_addtid_b32
""",
)

_FLAT_HALVES = rows(
    "flat",
    VMEM,
    """
operands: addr:b64 data:b8 +store
    0x19 flat_store_byte_d16_hi +high
operands: addr:b64 data:b16 +store
    0x1b flat_store_short_d16_hi +high
operands: vdst:u8 addr:b64 +load +d16
    0x20 flat_load_ubyte_d16
    0x21 flat_load_ubyte_d16_hi +high
operands: vdst:i8 addr:b64 +load +d16
    0x22 flat_load_sbyte_d16
    0x23 flat_load_sbyte_d16_hi +high
operands: vdst:b16 addr:b64 +load +d16
    0x24 flat_load_short_d16
    0x25 flat_load_short_d16_hi +high
""",
)


def _segment(name: str) -> tuple[Opcode, ...]:
    """Return FLAT's instructions as those of a segment, 'global' or 'scratch', which has a scalar address beside it."""
    made = []
    for opcode in (*FLAT, *_FLAT_HALVES):
        if name == "scratch" and "atomic" in opcode.flags:
            continue
        address = "addr:segment saddr" if opcode.operands.endswith("addr:b64") else "addr:segment"
        operands = opcode.operands.replace("addr:b64", address)
        if not address.endswith("saddr"):
            operands += " saddr"
        mnemonic = opcode.mnemonic.replace("flat_", f"{name}_")
        made.append(opcode._replace(mnemonic=mnemonic, encoding=name, operands=operands))
    return tuple(made)


_BUFFERS = rows(
    "mubuf",
    VMEM,
    """
operands: vdata:b32 vaddr srsrc:b128 soffset:u32 +load
    0x09 buffer_load_format_d16_xy
    0x26 buffer_load_format_d16_hi_x
operands: vdata:b64 vaddr srsrc:b128 soffset:u32 +load
    0x0a buffer_load_format_d16_xyz
    0x0b buffer_load_format_d16_xyzw
operands: vdata:b32 vaddr srsrc:b128 soffset:u32 +store
    0x0d buffer_store_format_d16_xy
    0x27 buffer_store_format_d16_hi_x
operands: vdata:b64 vaddr srsrc:b128 soffset:u32 +store
    0x0e buffer_store_format_d16_xyz
    0x0f buffer_store_format_d16_xyzw
operands: vdata:b8 vaddr srsrc:b128 soffset:u32 +store
    0x19 buffer_store_byte_d16_hi +high
operands: vdata:b16 vaddr srsrc:b128 soffset:u32 +store
    0x1b buffer_store_short_d16_hi +high
operands: vdata:u8 vaddr srsrc:b128 soffset:u32 +load +d16
    0x20 buffer_load_ubyte_d16
    0x21 buffer_load_ubyte_d16_hi +high
operands: vdata:i8 vaddr srsrc:b128 soffset:u32 +load +d16
    0x22 buffer_load_sbyte_d16
    0x23 buffer_load_sbyte_d16_hi +high
operands: vdata:b16 vaddr srsrc:b128 soffset:u32 +load +d16
    0x24 buffer_load_short_d16
    0x25 buffer_load_short_d16_hi +high
""",
) + rows(
    "mtbuf",
    VMEM,
    """
operands: vdata:b32 vaddr srsrc:b128 soffset:u32 format +load
    0x09 tbuffer_load_format_d16_xy
operands: vdata:b64 vaddr srsrc:b128 soffset:u32 format +load
    0x0a tbuffer_load_format_d16_xyz
    0x0b tbuffer_load_format_d16_xyzw
operands: vdata:b32 vaddr srsrc:b128 soffset:u32 format +store
    0x0d tbuffer_store_format_d16_xy
operands: vdata:b64 vaddr srsrc:b128 soffset:u32 format +store
    0x0e tbuffer_store_format_d16_xyz
    0x0f tbuffer_store_format_d16_xyzw
""",
)

_SDWA_SOURCES = (
    "src0_sel:16:3 src0_sext:19:1 src0_neg:20:1 src0_abs:21:1 src0_scalar:23:1"
    " src1_sel:24:3 src1_sext:27:1 src1_neg:28:1 src1_abs:29:1 src1_scalar:31:1"
)
_FLAT = layout(2, "op:18:7 offset:0:13 lds:13:1 glc:16:1 slc:17:1 vdst:56:8 nv:55:1 saddr:48:7 data:40:8 addr:32:8")
_VOP3_SOURCES = "vdst:0:8 neg:61:3 omod:59:2 src2:50:9 src1:41:9 src0:32:9"

_M0_READ = (
    "Vega ISA manual, section 4.5: manually inserted wait states; LLVM GCNHazardRecognizer for GFX9"
    " (hasReadM0MovRelInterpHazard, hasReadM0LdsDmaHazard, hasReadM0LdsDirectHazard); Mesa aco_insert_NOPs for GFX9"
)

EXTENSION = Extension(
    "gfx9",
    rows=(
        *(_VOP2 + _VOP1 + _VOP3 + _SCALAR + _SMEM + _DS),
        *(_FLAT_HALVES + _segment("global") + _segment("scratch") + _BUFFERS),
    ),
    removed=(("vop1", 0x36), ("vop1", 0x38)),
    formats={
        "vop3": layout(2, f"op:16:10 clamp:15:1 op_sel:11:4 abs:8:3 {_VOP3_SOURCES}"),
        "smem": layout(
            2, "op:18:8 imm:17:1 glc:16:1 nv:15:1 soffset_en:14:1 sdata:6:7 sbase:0:6 offset:32:21 soffset:57:7"
        ),
        **dict.fromkeys(("flat", "global", "scratch"), _FLAT),
        "mimg": layout(
            2,
            "op:18:7 slc:25:1 lwe:17:1 tfe:16:1 a16:15:1 da:14:1 glc:13:1 unrm:12:1 dmask:8:4"
            " d16:63:1 ssamp:53:5 srsrc:48:5 vdata:40:8 vaddr:32:8",
        ),
        "sdwa": layout(1, f"src0:0:8 dst_sel:8:3 dst_unused:11:2 clamp:13:1 omod:14:2 {_SDWA_SOURCES}"),
        "sdwa_vopc": layout(1, f"src0:0:8 sdst:8:7 sdst_en:15:1 {_SDWA_SOURCES}"),
    },
    encodings=(
        (0xFC00C000, 0xDC000000, "flat"),
        (0xFC00C000, 0xDC004000, "scratch"),
        (0xFC00C000, 0xDC008000, "global"),
    ),
    hazards=(
        Hazard("m0-relative-move", "SALU writes M0", "s_movrels, s_movreld", 1, _M0_READ),
        Hazard("m0-lds", "SALU writes M0", "LDS by M0: ds_*_addtid, loads into LDS, src_lds_direct", 1, _M0_READ),
    ),
)
