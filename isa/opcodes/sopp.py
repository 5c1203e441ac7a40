"""SOPP: program control (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import SALU, Opcode
from isa.opcodes.table import rows

SOPP: tuple[Opcode, ...] = rows(
    "sopp",
    SALU,
    """
operands: simm16:imm +internal
    0x00 s_nop
    0x0b s_setkill
    0x0d s_sethalt
    0x0e s_sleep
    0x0f s_setprio
    0x12 s_trap
    0x14 s_incperflevel
    0x15 s_decperflevel
operands: simm16:optional +internal
    0x01 s_endpgm +ends_block
operands: simm16:branch +branch
    0x02 s_branch +ends_block
    0x04 s_cbranch_scc0
    0x05 s_cbranch_scc1
    0x06 s_cbranch_vccz
    0x07 s_cbranch_vccnz
    0x08 s_cbranch_execz
    0x09 s_cbranch_execnz
    0x17 s_cbranch_cdbgsys
    0x18 s_cbranch_cdbguser
    0x19 s_cbranch_cdbgsys_or_user
    0x1a s_cbranch_cdbgsys_and_user
operands: none +internal
    0x03 s_wakeup
    0x0a s_barrier
    0x13 s_icache_inv
    0x16 s_ttracedata
    0x1b s_endpgm_saved +ends_block
operands: simm16:waitcnt +internal
    0x0c s_waitcnt
operands: simm16:message +branch
    0x10 s_sendmsg
    0x11 s_sendmsghalt
operands: none
    0x1c s_set_gpr_idx_off
operands: simm16:gpr_idx
    0x1d s_set_gpr_idx_mode
""",
)
