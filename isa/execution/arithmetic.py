"""Vector and scalar arithmetic of the interpreter: operands, modifiers and results around the lane library's calls."""

from gpusim.base.jit import jit, ld_i64, ld_u32, record_address, st_i32, st_i64
from isa.architecture import EXECZ, MODE_DX10_CLAMP_BIT, ROW_BYTES, SCC, VCCZ
from isa.execution.codes import Saturation
from isa.execution.program_table import ProgramRow
from isa.execution.state import EXEC_WORD, MODE_WORD, RESULT_ROW, SCC_OFFSET, SOURCE_ROWS, VCC_WORD, Context, Wavefront
from isa.lanes import call_lane_op, call_scalar_op

_CLAMP_AND_OMOD, _CLAMP, _DX10_CLAMP_SHIFT = 7, 4, 3  # flags of row_output_f*


@jit
def status_sources(scalars, wave: Wavefront):
    """Put SCC, VCCZ and EXECZ where operands find them."""
    st_i32(scalars, SCC, wave.scc)
    st_i32(scalars, VCCZ, 1 if ld_i64(scalars, VCC_WORD) == 0 else 0)
    st_i32(scalars, EXECZ, 1 if ld_i64(scalars, EXEC_WORD) == 0 else 0)


@jit
def fill_row(address, value):
    """Put a 32-bit number into all 64 lanes of a row."""
    pair = value | (value << 32)
    for i in range(ROW_BYTES // 8):
        st_i64(address, i, pair)


@jit(inline=True)
def source_address(row: ProgramRow, k, registers):
    """Return the address of source `k`: of a constant, or within the wavefront's vector or scalar registers."""
    return row.source[k] + (registers & row.source_relative[k])


@jit
def prepared_source(context: Context, scalars, row: ProgramRow, k, address, scratch):
    """Return source `k`'s address after broadcast, SDWA selection and sign modifiers. scratch: its scratch rows."""
    if row.source_scalar[k] >= 0:
        for d in range(row.source_dwords[k]):
            fill_row(scratch + d * ROW_BYTES, ld_u32(scalars + row.source_scalar[k], d))
        address = scratch
    if row.source_sdwa[k]:
        select = context.helpers.row_sdwa_select
        call_lane_op(select, scratch, address, row.source_select[k], row.source_extend[k], -1, 0)
        address = scratch
    if row.source_sign[k]:
        call_lane_op(row.source_sign[k], scratch, address, row.source_sign_flags[k], 0, -1, 0)
        address = scratch
    return address


@jit
def output_flags(row: ProgramRow, mode):
    """Return the flags of an output modifier.

    omod only acts without IEEE mode and denormal results; DX10_CLAMP is as MODE has it.
    """
    flags = row.output_flags
    if mode & row.output_refused_by:
        flags &= _CLAMP
    return flags | (((mode >> MODE_DX10_CLAMP_BIT) & 1) << _DX10_CLAMP_SHIFT)


@jit
def vector_general(context: Context, vectors, scalars, wave: Wavefront, row: ProgramRow):
    """Execute vector arithmetic with scalar sources, modifiers, SDWA, DPP or a write of EXEC."""
    helpers = context.helpers
    if row.reads_status:
        status_sources(scalars, wave)
    scratch = vectors + context.vector_registers * ROW_BYTES
    active = ld_i64(scalars, EXEC_WORD)
    a = source_address(row, 0, vectors)
    if row.dpp:
        moved = scratch + SOURCE_ROWS // 2 * ROW_BYTES
        before = active
        control, bound = row.dpp_control, row.dpp_bound
        for d in range(row.source_dwords[0]):
            at = d * ROW_BYTES
            active = call_lane_op(helpers.row_dpp, moved + at, a + at, control, bound, before, row.dpp_lanes)
        a = moved
    a = prepared_source(context, scalars, row, 0, a, scratch)
    b = source_address(row, 1, vectors)
    b = prepared_source(context, scalars, row, 1, b, scratch + SOURCE_ROWS * ROW_BYTES)
    c = source_address(row, 2, vectors)
    c = prepared_source(context, scalars, row, 2, c, scratch + 2 * SOURCE_ROWS * ROW_BYTES)
    destination = vectors + row.destination
    result = destination
    copy = helpers.row_copy_b64 if row.destination_dwords == 2 else helpers.row_copy
    mode = ld_i64(scalars, MODE_WORD)
    if row.output or row.merges:
        result = scratch + RESULT_ROW * ROW_BYTES
        call_lane_op(copy, result, destination, 0, 0, -1, 0)
    mode_with_destination = mode & 0xFF if row.mode_with_destination else 0
    mask_in = ld_i64(scalars + row.mask_in, 0)
    mask = call_lane_op(row.function, result + mode_with_destination, a, b, c, active, mask_in)
    st_i64(scalars + row.mask_out, 0, mask)
    if row.writes_exec:
        st_i64(scalars, EXEC_WORD, mask)
    if row.saturation:
        bound = 0xFFFF_FFFF if row.saturation == Saturation.CARRY else 0
        call_lane_op(helpers.row_broadcast, result, bound, 0, 0, mask, 0)
    if row.output:
        flags = output_flags(row, mode)
        if flags & _CLAMP_AND_OMOD:
            call_lane_op(row.output, result, result, flags, 0, active, mode)
    if row.merges:
        call_lane_op(helpers.row_sdwa_merge, destination, result, row.merge_select, row.merge_unused, active, 0)
    elif row.output:
        call_lane_op(copy, destination, result, 0, 0, active, 0)


@jit
def scalar_value(address, dwords):
    """Return a scalar operand: one dword zero-extended, or two."""
    return ld_i64(address, 0) if dwords == 2 else ld_u32(address, 0)


@jit
def scalar_arithmetic(scalars, wave: Wavefront, row: ProgramRow):
    """Execute SOP1, SOP2, SOPK and SOPC arithmetic."""
    a = scalar_value(source_address(row, 0, scalars), row.source_dwords[0])
    b = scalar_value(source_address(row, 1, scalars), row.source_dwords[1])
    destination = scalars + row.destination
    dwords = row.destination_dwords
    old = scalar_value(destination, dwords)
    result = call_scalar_op(row.function, a, b, old, wave.scc, record_address(wave) + SCC_OFFSET)
    if dwords == 1:
        st_i32(destination, 0, result)
    elif dwords == 2:
        st_i64(destination, 0, result)


@jit
def save_exec(scalars, wave: Wavefront, row: ProgramRow):
    """Execute s_*_saveexec_b64: EXEC = EXEC op source, after a copy of EXEC; s_*_wrexec_b64 copies the new EXEC."""
    source = ld_i64(source_address(row, 0, scalars), 0)
    before = ld_i64(scalars, EXEC_WORD)
    result = call_scalar_op(row.function, before, source, 0, wave.scc, record_address(wave) + SCC_OFFSET)
    st_i64(scalars + row.destination, 0, result if row.returns else before)
    st_i64(scalars, EXEC_WORD, result)
