"""Instruction semantics on 64 lanes: one small Python function an instruction, compiled through LLVM or run on NumPy.

`values` is the language of semantics, `table` what they are entered in; `llvm_backend` with `llvm_module`, and
`numpy_backend` with `exact_rounding`, give it its two meanings; `host_mode` sets the host's rounding and denormals;
`lane_library` compiles and loads, `call` calls.

`library()` gives the addresses and signatures of all operations (`isa.semantics`) and of the row helpers below.
A row is 64 lanes of 4 bytes at a 256-byte aligned address; a 64-bit operand is two consecutive rows, low dwords
first. f16, i16 and u16 live in the low half; their results clear the upper half.

Vector ABI, for `call_lane_op(address, d, a, b, c, exec_mask, mask_in)`:

    int64 op(d, a, b, c, exec_mask, mask_in)

d, a, b, c are row addresses (or numbers, where the signature says `imm`). Lanes outside exec_mask keep what d holds.
Reads precede writes: d may be or overlap any source. mask_in is the lane mask an instruction reads (VCC or the third
operand pair); where it reads none, mask_in is the MODE register: bits 7:0 choose rounding and denormals, bit 9 is IEEE.
Operations with `mode_with_destination` read a mask and take MODE[7:0] in the low byte of d. Returned: the lane mask an
instruction writes (comparison, carry), already within exec_mask, else 0.

Scalar ABI, for `call_scalar_op(address, a, b, old_d, scc, out)`:

    int64 op(a, b, old_d, scc, out)

Sources are zero-extended (64-bit ones whole); for SOPK `a` is simm16 and `old_d` the value of sdst (compares read it
there too). The result is returned (32-bit ones zero-extended); SCC after the instruction is stored as int64 at the
address `out`, changed or not. s_*_saveexec_b64: a = EXEC, b = the source; the result is the new EXEC.

Row helpers (vector ABI; unused arguments 0). All honour exec_mask:

    row_broadcast          (d, value, ...)        a number into every lane
    row_broadcast_b64      (d, low, high)         a 64-bit number into a pair of rows
    row_copy, row_copy_b64 (d, a)                 also: merge a into d under exec_mask
    row_select             (d, a, b, _, exec, m)  lanes of b where m is set, else of a
    row_sign_f32|f16|f64   (d, a, flags)          ABS_FLAG (1) first, then NEG_FLAG (2)
    row_output_f32|f16|f64 (d, a, flags)          omod (bits 0-1: 1 x2, 2 x4, 3 /2), then CLAMP_FLAG (4) to [0, 1];
                                                  NaN becomes 0 when DX10_CLAMP_FLAG (8) is set too
    row_sdwa_select        (d, a, sel, sext)      sel 0-3 byte, 4-5 word, 6 dword; sext 1 sign-extends
    row_sdwa_merge         (d, a, sel, unused)    a's low byte/word into d's dst_sel; unused 0 pad, 1 sign, 2 keep
    row_dpp                (d, a, ctrl, bound, exec, m)
                                                  lane permutation; bound 1: BOUND_CTRL zero fill; m: the lane mask
                                                  from `dpp_lanes(row_mask, bank_mask)`. d must not be a. Returned:
                                                  the exec mask the instruction then runs with
    set_host_float_mode    (mode)                 FP32 rounding and denormals of MODE[7:0]; returns the host's old mode.
                                                  Operations expect the host set to the MODE they are given
    restore_host_float_mode(old)                  takes what the former returned

A name with `.clamp` is an integer instruction's saturating form (VOP3 clamp bit); where none exists the bit is refused.

Numbers: rounding and denormals follow MODE as `docs/explanation/execution.md` says; FP32 by the host's mode (set it
around execution), the others by changing it around an operation where MODE's fields differ. NaN results are quiet,
their payload is not defined, except where bits move (v_mov, neg, abs, v_cndmask). min, max: the number wins over NaN,
but for a signalling NaN with the IEEE bit; -0 < +0; denormals are not flushed (GCN3 ignores MODE there).
Transcendentals: computed in FP64 and rounded once, so closer than the hardware's 1 ulp; v_rcp and v_sqrt are correctly
rounded.

Why so: LLVM makes vector code of 64 lanes, and NumPy runs the same text where there is no compiler and checks the
other.
"""

from isa.lanes.call import call_from_python, call_lane_op, call_scalar_op
from isa.lanes.lane_library import LaneLibrary, library, python_library
from isa.lanes.table import Signature

ABS_FLAG, NEG_FLAG = 1, 2
CLAMP_FLAG, DX10_CLAMP_FLAG = 4, 8


def dpp_lanes(row_mask: int, bank_mask: int) -> int:
    """Return the lanes that DPP's masks leave writable.

    Args:
        row_mask: a bit for each row of 16 lanes.
        bank_mask: a bit for each bank of 4 lanes in every row.

    Returns:
        A bit for each lane, as int64.
    """
    row = sum(0xF << 4 * i for i in range(4) if bank_mask >> i & 1)
    lanes = sum(row << 16 * i for i in range(4) if row_mask >> i & 1)
    return lanes - (1 << 64) if lanes >> 63 else lanes
