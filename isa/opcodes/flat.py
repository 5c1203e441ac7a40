"""FLAT: flat address space (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import VMEM, Opcode
from isa.opcodes.table import rows

FLAT: tuple[Opcode, ...] = rows(
    "flat",
    VMEM,
    """
operands: vdst:u8 addr:b64 +load
    0x10 flat_load_ubyte
operands: vdst:i8 addr:b64 +load
    0x11 flat_load_sbyte
operands: vdst:u16 addr:b64 +load
    0x12 flat_load_ushort
operands: vdst:i16 addr:b64 +load
    0x13 flat_load_sshort
operands: vdst:b32 addr:b64 +load
    0x14 flat_load_dword
operands: vdst:b64 addr:b64 +load
    0x15 flat_load_dwordx2
operands: vdst:b96 addr:b64 +load
    0x16 flat_load_dwordx3
operands: vdst:b128 addr:b64 +load
    0x17 flat_load_dwordx4
operands: addr:b64 data:b8 +store
    0x18 flat_store_byte
operands: addr:b64 data:b16 +store
    0x1a flat_store_short
operands: addr:b64 data:b32 +store
    0x1c flat_store_dword
operands: addr:b64 data:b64 +store
    0x1d flat_store_dwordx2
operands: addr:b64 data:b96 +store
    0x1e flat_store_dwordx3
operands: addr:b64 data:b128 +store
    0x1f flat_store_dwordx4
operands: vdst:b32 addr:b64 data:b32 +atomic
    0x40 flat_atomic_swap
    0x48 flat_atomic_and
    0x49 flat_atomic_or
    0x4a flat_atomic_xor
operands: vdst:b32 addr:b64 data:b64 +atomic
    0x41 flat_atomic_cmpswap
operands: vdst:u32 addr:b64 data:u32 +atomic
    0x42 flat_atomic_add
    0x43 flat_atomic_sub
    0x45 flat_atomic_umin
    0x47 flat_atomic_umax
    0x4b flat_atomic_inc
    0x4c flat_atomic_dec
operands: vdst:i32 addr:b64 data:i32 +atomic
    0x44 flat_atomic_smin
    0x46 flat_atomic_smax
operands: vdst:b64 addr:b64 data:b64 +atomic
    0x60 flat_atomic_swap_x2
    0x68 flat_atomic_and_x2
    0x69 flat_atomic_or_x2
    0x6a flat_atomic_xor_x2
operands: vdst:b64 addr:b64 data:b128 +atomic
    0x61 flat_atomic_cmpswap_x2
operands: vdst:u64 addr:b64 data:u64 +atomic
    0x62 flat_atomic_add_x2
    0x63 flat_atomic_sub_x2
    0x65 flat_atomic_umin_x2
    0x67 flat_atomic_umax_x2
    0x6b flat_atomic_inc_x2
    0x6c flat_atomic_dec_x2
operands: vdst:i64 addr:b64 data:i64 +atomic
    0x64 flat_atomic_smin_x2
    0x66 flat_atomic_smax_x2
""",
)
