"""Vector and scalar arithmetic of the interpreter: operands, modifiers and results around the lane library's calls."""

from gpusim.jit import jit, ld_i64, ld_u32, st_i32, st_i64
from isa.execution.layout import (
    C_HELPERS,
    C_VGPR_COUNT,
    FLAG_BORROW_SATURATES,
    FLAG_CARRY_SATURATES,
    FLAG_CMPX,
    FLAG_MODE_WITH_D,
    FLAG_SPECIAL,
    H_BROADCAST,
    H_COPY,
    H_COPY_B64,
    H_DPP,
    H_OUTPUT_F32,
    H_SDWA_MERGE,
    H_SDWA_SELECT,
    I_A,
    I_A_DWORDS,
    I_A_MASK,
    I_B,
    I_B_DWORDS,
    I_B_MASK,
    I_C,
    I_C_MASK,
    I_D,
    I_D_DWORDS,
    I_DPP,
    I_DPP_LANES,
    I_FLAGS,
    I_FUNCTION,
    I_MASK_IN,
    I_MASK_OUT,
    I_OUTPUT,
    I_SDWA_MERGE,
    I_SOURCE,
    MODE_DX10_CLAMP_BIT,
    MODE_IEEE_BIT,
    MODE_SINGLE_RESULTS,
    MODE_WIDE_RESULTS,
    RESULT_ROW,
    ROW_BYTES,
    S_EXEC,
    S_EXECZ,
    S_MODE,
    S_SCC,
    S_VCC,
    S_VCCZ,
    SOURCE_WORDS,
    SRC_DWORDS,
    SRC_SCALAR,
    SRC_SDWA,
    SRC_SIGN,
    W_SCC,
)
from isa.lanes import call_lane_op, call_scalar_op

EXEC = S_EXEC // 2  # EXEC and VCC as 64-bit words of the scalar register file
VCC = S_VCC // 2
MODE = S_MODE // 2
_CLAMP_AND_OMOD, _CLAMP, _DX10_CLAMP_SHIFT = 7, 4, 3  # flags of row_output_f*


@jit
def special_sources(sb, wave):
    """Put SCC, VCCZ and EXECZ where operands find them."""
    st_i32(sb, S_SCC, ld_i64(wave, W_SCC))
    st_i32(sb, S_VCCZ, 1 if ld_i64(sb, VCC) == 0 else 0)
    st_i32(sb, S_EXECZ, 1 if ld_i64(sb, EXEC) == 0 else 0)


@jit
def fill_row(row, value):
    """Put a 32-bit number into all 64 lanes of a row."""
    pair = value | (value << 32)
    for i in range(ROW_BYTES // 8):
        st_i64(row, i, pair)


@jit
def prepared_source(helpers, sb, row, k, address, spare):
    """Address of source `k` after broadcast, SDWA selection and sign modifiers; `spare` are its scratch rows."""
    words = row + 8 * (I_SOURCE + SOURCE_WORDS * k)
    scalar = ld_i64(words, SRC_SCALAR)
    if scalar >= 0:
        for d in range(ld_i64(words, SRC_DWORDS)):
            fill_row(spare + d * ROW_BYTES, ld_u32(sb + scalar, d))
        address = spare
    sdwa = ld_i64(words, SRC_SDWA)
    if sdwa:
        call_lane_op(ld_i64(helpers, H_SDWA_SELECT), spare, address, (sdwa >> 8) & 7, sdwa >> 16, -1, 0)
        address = spare
    sign = ld_i64(words, SRC_SIGN)
    if sign:
        call_lane_op(ld_i64(helpers, sign >> 8), spare, address, sign & 3, 0, -1, 0)
        address = spare
    return address


@jit
def output_flags(helper, flags, mode):
    """Flags of an output modifier: omod only without IEEE mode and denormal results, DX10_CLAMP as MODE has it."""
    results = MODE_SINGLE_RESULTS if helper == H_OUTPUT_F32 else MODE_WIDE_RESULTS
    if mode & (results | (1 << MODE_IEEE_BIT)):
        flags &= _CLAMP
    return flags | (((mode >> MODE_DX10_CLAMP_BIT) & 1) << _DX10_CLAMP_SHIFT)


@jit
def vector_slow(ctx, vb, sb, wave, row):
    """Vector arithmetic with scalar sources, modifiers, SDWA, DPP or a write of EXEC."""
    helpers = ld_i64(ctx, C_HELPERS)
    flags = ld_i64(row, I_FLAGS)
    if flags & FLAG_SPECIAL:
        special_sources(sb, wave)
    spare = vb + ld_i64(ctx, C_VGPR_COUNT) * ROW_BYTES
    exe = ld_i64(sb, EXEC)
    a = ld_i64(row, I_A) + (vb & ld_i64(row, I_A_MASK))
    dpp = ld_i64(row, I_DPP)
    if dpp:
        control, bound = (dpp >> 8) & 0xFFFF, dpp >> 24
        to = spare + ROW_BYTES
        exe = call_lane_op(ld_i64(helpers, H_DPP), to, a, control, bound, exe, ld_i64(row, I_DPP_LANES))
        a = to
    a = prepared_source(helpers, sb, row, 0, a, spare)
    b = ld_i64(row, I_B) + (vb & ld_i64(row, I_B_MASK))
    b = prepared_source(helpers, sb, row, 1, b, spare + 4 * ROW_BYTES)
    c = ld_i64(row, I_C) + (vb & ld_i64(row, I_C_MASK))
    c = prepared_source(helpers, sb, row, 2, c, spare + 8 * ROW_BYTES)
    d = vb + ld_i64(row, I_D)
    target = d
    output = ld_i64(row, I_OUTPUT)
    merge = ld_i64(row, I_SDWA_MERGE)
    wide = 1 if ld_i64(row, I_D_DWORDS) == 2 else 0
    copy = ld_i64(helpers, H_COPY_B64 if wide else H_COPY)
    mode = ld_i64(sb, MODE)
    if output or merge:
        target = spare + RESULT_ROW * ROW_BYTES
        call_lane_op(copy, target, d, 0, 0, -1, 0)
    mode_with_d = mode & 0xFF if flags & FLAG_MODE_WITH_D else 0
    mask = call_lane_op(
        ld_i64(row, I_FUNCTION), target + mode_with_d, a, b, c, exe, ld_i64(sb + ld_i64(row, I_MASK_IN), 0)
    )
    st_i64(sb + ld_i64(row, I_MASK_OUT), 0, mask)
    if flags:
        if flags & FLAG_CMPX:
            st_i64(sb, EXEC, mask)
        if flags & FLAG_CARRY_SATURATES:
            call_lane_op(ld_i64(helpers, H_BROADCAST), target, 0xFFFF_FFFF, 0, 0, mask, 0)
        if flags & FLAG_BORROW_SATURATES:
            call_lane_op(ld_i64(helpers, H_BROADCAST), target, 0, 0, 0, mask, 0)
    if output:
        what = output_flags(output >> 8, output & _CLAMP_AND_OMOD, mode)
        if what & _CLAMP_AND_OMOD:
            call_lane_op(ld_i64(helpers, output >> 8), target, target, what, 0, exe, mode)
    if merge:
        call_lane_op(ld_i64(helpers, H_SDWA_MERGE), d, target, (merge >> 8) & 7, merge >> 16, exe, 0)
    elif output:
        call_lane_op(copy, d, target, 0, 0, exe, 0)


@jit
def scalar_source(sb, address, dwords):
    """A scalar operand: one dword zero-extended, or two."""
    return ld_i64(address, 0) if dwords == 2 else ld_u32(address, 0)


@jit
def scalar_arithmetic(sb, wave, row):
    """Execute SOP1, SOP2, SOPK and SOPC arithmetic."""
    a = scalar_source(sb, ld_i64(row, I_A) + (sb & ld_i64(row, I_A_MASK)), ld_i64(row, I_A_DWORDS))
    b = scalar_source(sb, ld_i64(row, I_B) + (sb & ld_i64(row, I_B_MASK)), ld_i64(row, I_B_DWORDS))
    d = sb + ld_i64(row, I_D)
    dwords = ld_i64(row, I_D_DWORDS)
    old = scalar_source(sb, d, dwords)
    result = call_scalar_op(ld_i64(row, I_FUNCTION), a, b, old, ld_i64(wave, W_SCC), wave + 8 * W_SCC)
    if dwords == 1:
        st_i32(d, 0, result)
    elif dwords == 2:
        st_i64(d, 0, result)


@jit
def save_exec(sb, wave, row):
    """Execute s_*_saveexec_b64: EXEC = EXEC op source, after a copy of EXEC."""
    source = ld_i64(ld_i64(row, I_A) + (sb & ld_i64(row, I_A_MASK)), 0)
    exe = ld_i64(sb, EXEC)
    result = call_scalar_op(ld_i64(row, I_FUNCTION), exe, source, 0, ld_i64(wave, W_SCC), wave + 8 * W_SCC)
    st_i64(sb + ld_i64(row, I_D), 0, exe)
    st_i64(sb, EXEC, result)
