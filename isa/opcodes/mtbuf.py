"""MTBUF: typed buffer memory (GCN3 ISA manual, chapter 12)."""

from isa.opcodes.opcode import VMEM, Opcode
from isa.opcodes.table import rows

MTBUF: tuple[Opcode, ...] = rows(
    "mtbuf",
    VMEM,
    """
operands: vdata:b32 vaddr srsrc:b128 soffset:u32 format +load
    0x00 tbuffer_load_format_x
    0x08 tbuffer_load_format_d16_x
operands: vdata:b64 vaddr srsrc:b128 soffset:u32 format +load
    0x01 tbuffer_load_format_xy
    0x09 tbuffer_load_format_d16_xy
operands: vdata:b96 vaddr srsrc:b128 soffset:u32 format +load
    0x02 tbuffer_load_format_xyz
    0x0a tbuffer_load_format_d16_xyz
operands: vdata:b128 vaddr srsrc:b128 soffset:u32 format +load
    0x03 tbuffer_load_format_xyzw
    0x0b tbuffer_load_format_d16_xyzw
operands: vdata:b32 vaddr srsrc:b128 soffset:u32 format +store
    0x04 tbuffer_store_format_x
    0x0c tbuffer_store_format_d16_x
operands: vdata:b64 vaddr srsrc:b128 soffset:u32 format +store
    0x05 tbuffer_store_format_xy
    0x0d tbuffer_store_format_d16_xy
operands: vdata:b96 vaddr srsrc:b128 soffset:u32 format +store
    0x06 tbuffer_store_format_xyz
    0x0e tbuffer_store_format_d16_xyz
operands: vdata:b128 vaddr srsrc:b128 soffset:u32 format +store
    0x07 tbuffer_store_format_xyzw
    0x0f tbuffer_store_format_d16_xyzw
""",
)
