"""MUBUF: untyped buffer memory (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import VMEM, Opcode
from isa.opcodes.table import rows

MUBUF: tuple[Opcode, ...] = rows(
    "mubuf",
    VMEM,
    """
operands: vdata:b32 vaddr srsrc:b128 soffset:u32 +load
    0x00 buffer_load_format_x +to_lds
    0x08 buffer_load_format_d16_x
    0x14 buffer_load_dword +to_lds
operands: vdata:b64 vaddr srsrc:b128 soffset:u32 +load
    0x01 buffer_load_format_xy
    0x09 buffer_load_format_d16_xy
    0x15 buffer_load_dwordx2
operands: vdata:b96 vaddr srsrc:b128 soffset:u32 +load
    0x02 buffer_load_format_xyz
    0x0a buffer_load_format_d16_xyz
    0x16 buffer_load_dwordx3
operands: vdata:b128 vaddr srsrc:b128 soffset:u32 +load
    0x03 buffer_load_format_xyzw
    0x0b buffer_load_format_d16_xyzw
    0x17 buffer_load_dwordx4
operands: vdata:b32 vaddr srsrc:b128 soffset:u32 +store
    0x04 buffer_store_format_x
    0x0c buffer_store_format_d16_x
    0x1c buffer_store_dword
operands: vdata:b64 vaddr srsrc:b128 soffset:u32 +store
    0x05 buffer_store_format_xy
    0x0d buffer_store_format_d16_xy
    0x1d buffer_store_dwordx2
operands: vdata:b96 vaddr srsrc:b128 soffset:u32 +store
    0x06 buffer_store_format_xyz
    0x0e buffer_store_format_d16_xyz
    0x1e buffer_store_dwordx3
operands: vdata:b128 vaddr srsrc:b128 soffset:u32 +store
    0x07 buffer_store_format_xyzw
    0x0f buffer_store_format_d16_xyzw
    0x1f buffer_store_dwordx4
operands: vdata:u8 vaddr srsrc:b128 soffset:u32 +load
    0x10 buffer_load_ubyte +to_lds
operands: vdata:i8 vaddr srsrc:b128 soffset:u32 +load
    0x11 buffer_load_sbyte +to_lds
operands: vdata:u16 vaddr srsrc:b128 soffset:u32 +load
    0x12 buffer_load_ushort +to_lds
operands: vdata:i16 vaddr srsrc:b128 soffset:u32 +load
    0x13 buffer_load_sshort +to_lds
operands: vdata:b8 vaddr srsrc:b128 soffset:u32 +store
    0x18 buffer_store_byte
operands: vdata:b16 vaddr srsrc:b128 soffset:u32 +store
    0x1a buffer_store_short
operands: none
    0x3e buffer_wbinvl1
    0x3f buffer_wbinvl1_vol
operands: vdata:b32 vaddr srsrc:b128 soffset:u32 +atomic
    0x40 buffer_atomic_swap
    0x48 buffer_atomic_and
    0x49 buffer_atomic_or
    0x4a buffer_atomic_xor
operands: vdata:b64 vaddr srsrc:b128 soffset:u32 +atomic
    0x41 buffer_atomic_cmpswap
    0x60 buffer_atomic_swap_x2
    0x68 buffer_atomic_and_x2
    0x69 buffer_atomic_or_x2
    0x6a buffer_atomic_xor_x2
operands: vdata:u32 vaddr srsrc:b128 soffset:u32 +atomic
    0x42 buffer_atomic_add
    0x43 buffer_atomic_sub
    0x45 buffer_atomic_umin
    0x47 buffer_atomic_umax
    0x4b buffer_atomic_inc
    0x4c buffer_atomic_dec
operands: vdata:i32 vaddr srsrc:b128 soffset:u32 +atomic
    0x44 buffer_atomic_smin
    0x46 buffer_atomic_smax
operands: vdata:b128 vaddr srsrc:b128 soffset:u32 +atomic
    0x61 buffer_atomic_cmpswap_x2
operands: vdata:u64 vaddr srsrc:b128 soffset:u32 +atomic
    0x62 buffer_atomic_add_x2
    0x63 buffer_atomic_sub_x2
    0x65 buffer_atomic_umin_x2
    0x67 buffer_atomic_umax_x2
    0x6b buffer_atomic_inc_x2
    0x6c buffer_atomic_dec_x2
operands: vdata:i64 vaddr srsrc:b128 soffset:u32 +atomic
    0x64 buffer_atomic_smin_x2
    0x66 buffer_atomic_smax_x2
""",
)
