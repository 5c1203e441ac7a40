"""SMEM: scalar memory (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import SMEM, Opcode
from isa.opcodes.table import rows

SCALAR_MEMORY: tuple[Opcode, ...] = rows(
    "smem",
    SMEM,
    """
operands: sdata:b32 sbase:b64 offset:smem +load
    0x00 s_load_dword
operands: sdata:b64 sbase:b64 offset:smem +load
    0x01 s_load_dwordx2
operands: sdata:b128 sbase:b64 offset:smem +load
    0x02 s_load_dwordx4
operands: sdata:b256 sbase:b64 offset:smem +load
    0x03 s_load_dwordx8
operands: sdata:b512 sbase:b64 offset:smem +load
    0x04 s_load_dwordx16
operands: sdata:b32 sbase:b128 offset:smem +load
    0x08 s_buffer_load_dword
operands: sdata:b64 sbase:b128 offset:smem +load
    0x09 s_buffer_load_dwordx2
operands: sdata:b128 sbase:b128 offset:smem +load
    0x0a s_buffer_load_dwordx4
operands: sdata:b256 sbase:b128 offset:smem +load
    0x0b s_buffer_load_dwordx8
operands: sdata:b512 sbase:b128 offset:smem +load
    0x0c s_buffer_load_dwordx16
operands: sdata:b32 sbase:b64 offset:smem +store
    0x10 s_store_dword
operands: sdata:b64 sbase:b64 offset:smem +store
    0x11 s_store_dwordx2
operands: sdata:b128 sbase:b64 offset:smem +store
    0x12 s_store_dwordx4
operands: sdata:b32 sbase:b128 offset:smem +store
    0x18 s_buffer_store_dword
operands: sdata:b64 sbase:b128 offset:smem +store
    0x19 s_buffer_store_dwordx2
operands: sdata:b128 sbase:b128 offset:smem +store
    0x1a s_buffer_store_dwordx4
operands: none
    0x20 s_dcache_inv
    0x21 s_dcache_wb
    0x22 s_dcache_inv_vol
    0x23 s_dcache_wb_vol
operands: sdata:b64
    0x24 s_memtime
    0x25 s_memrealtime
operands: sdata:imm sbase:b64 offset:smem
    0x26 s_atc_probe
operands: sdata:imm sbase:b128 offset:smem
    0x27 s_atc_probe_buffer
""",
)
