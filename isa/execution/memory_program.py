"""Program rows of memory instructions: SMEM, FLAT, MUBUF, DS."""

import re

import numpy as np

from isa.encoding.instruction import Instruction
from isa.encoding.operands import LITERAL_CODE, SCALAR_REGISTERS, Operand, Pool, Unsupported, constant_of, vgpr
from isa.execution import data_movement as atomics
from isa.execution import layout as at
from isa.execution import lds_access, scalar_access
from isa.lanes import LaneLibrary

_VECTOR_TRANSFER = re.compile(r"(?:flat|buffer)_(load|store)_(ubyte|sbyte|byte|ushort|sshort|short|dword(?:x[234])?)")
_VECTOR_ATOMIC = re.compile(r"(?:flat|buffer)_atomic_([a-z]+)(_x2)?")
_VECTOR_BYTES = {
    **dict.fromkeys(("byte", "ubyte", "sbyte"), 1),
    **dict.fromkeys(("short", "ushort", "sshort"), 2),
    **{"dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16},
}
_VECTOR_ATOMICS = {
    "swap": atomics.A_SWAP,
    "cmpswap": atomics.A_CMPSWAP,
    "add": atomics.A_ADD,
    "sub": atomics.A_SUB,
    "smin": atomics.A_SMIN,
    "umin": atomics.A_UMIN,
    "smax": atomics.A_SMAX,
    "umax": atomics.A_UMAX,
    "and": atomics.A_AND,
    "or": atomics.A_OR,
    "xor": atomics.A_XOR,
    "inc": atomics.A_INC,
    "dec": atomics.A_DEC,
}
_DS_TRANSFER = re.compile(r"ds_(read|write)(2)?(st64)?_([bui])(\d+)")
_DS_ATOMIC = re.compile(r"ds_([a-z]+)(2)?(st64)?(?:_rtn)?_([buif])(32|64)")
_DS_ATOMICS = {
    "add": atomics.A_ADD,
    "sub": atomics.A_SUB,
    "rsub": atomics.A_RSUB,
    "inc": atomics.A_INC,
    "dec": atomics.A_DEC,
    "and": atomics.A_AND,
    "or": atomics.A_OR,
    "xor": atomics.A_XOR,
    "mskor": atomics.A_MSKOR,
    "wrxchg": atomics.A_SWAP,
    "cmpst": atomics.A_CMPSWAP,
    "min i": atomics.A_SMIN,
    "min u": atomics.A_UMIN,
    "max i": atomics.A_SMAX,
    "max u": atomics.A_UMAX,
    "min f": atomics.A_FMIN,
    "max f": atomics.A_FMAX,
    "cmpst f": atomics.A_FCMPSWAP,
}
_DS_SPECIAL = {
    "ds_swizzle_b32": lds_access.DS_SWIZZLE,
    "ds_permute_b32": lds_access.DS_PERMUTE,
    "ds_bpermute_b32": lds_access.DS_BPERMUTE,
    "ds_append": lds_access.DS_APPEND,
    "ds_consume": lds_access.DS_CONSUME,
    "ds_nop": lds_access.DS_NOP,
}
_SCALAR_TRANSFER = re.compile(r"s_(buffer_)?(load|store)_dword(?:x(\d+))?")
_SCALAR_CACHE = ("s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol")
_ST64 = 64


def memory_row(row: np.ndarray, instruction: Instruction, pool: Pool, library: LaneLibrary, mode: int | None) -> None:
    """Fill the program row of a memory instruction; raises Unsupported."""
    encoding = instruction.opcode.encoding
    if encoding == "smem":
        _scalar(row, instruction)
    elif encoding == "ds":
        _lds(row, instruction)
    elif encoding == "flat":
        _vector(row, instruction)
        _flat(row, instruction.fields)
    else:
        _buffer(row, instruction)


def _scalar(row: np.ndarray, instruction: Instruction) -> None:
    name, fields = instruction.opcode.mnemonic, instruction.fields
    row[at.I_KIND] = at.K_SMEM
    row[at.M_SDATA] = 4 * fields["sdata"]
    if name in ("s_memtime", "s_memrealtime"):
        row[at.M_SUBKIND] = scalar_access.SMEM_CLOCK
        return
    if name in _SCALAR_CACHE:
        row[at.M_SUBKIND] = scalar_access.SMEM_CACHE
        return
    match = _SCALAR_TRANSFER.fullmatch(name)
    if match is None:
        raise Unsupported("it has no semantics")
    row[at.M_SUBKIND] = scalar_access.SMEM_BUFFER if match[1] else scalar_access.SMEM_PLAIN
    row[at.M_CLASS] = at.LOAD if match[2] == "load" else at.STORE
    row[at.M_BYTES] = 4 * int(match[3] or 1)
    row[at.M_SBASE] = 8 * fields["sbase"]
    row[at.M_SOFFSET] = -1
    if fields["imm"]:
        row[at.M_OFFSET] = fields["offset"]
    else:
        row[at.M_SOFFSET] = 4 * (fields["offset"] & 127)


def _vector(row: np.ndarray, instruction: Instruction) -> None:
    """What FLAT and MUBUF share: class, size, atomic operation."""
    name = instruction.opcode.mnemonic
    if instruction.fields["tfe"] or instruction.fields.get("lds"):
        raise Unsupported("its TFE or LDS bit is set")
    transfer = _VECTOR_TRANSFER.fullmatch(name)
    if transfer:
        row[at.M_CLASS] = at.LOAD if transfer[1] == "load" else at.STORE
        row[at.M_SIGNED] = 1 if transfer[2] in ("sbyte", "sshort") else 0
        row[at.M_BYTES] = _VECTOR_BYTES[transfer[2]]
        return
    atomic = _VECTOR_ATOMIC.fullmatch(name)
    if atomic is None or atomic[1] not in _VECTOR_ATOMICS:
        raise Unsupported("it has no semantics")
    row[at.M_CLASS] = at.ATOMIC
    row[at.M_ATOMIC] = _VECTOR_ATOMICS[atomic[1]]
    row[at.M_BYTES] = 8 if atomic[2] else 4
    row[at.M_RETURN] = instruction.fields["glc"]


def _flat(row: np.ndarray, fields: dict[str, int]) -> None:
    row[at.I_KIND] = at.K_FLAT
    row[at.M_ADDRESS] = vgpr(fields["addr"])
    row[at.M_DATA] = vgpr(fields["data"])
    row[at.M_DATA1] = row[at.M_DATA] + row[at.M_BYTES] // 4 * at.ROW_BYTES
    row[at.M_DST] = vgpr(fields["vdst"])
    marked = fields["glc"] and fields["slc"] and row[at.M_CLASS] == at.LOAD and row[at.M_BYTES] == 8
    row[at.M_SPARSE] = 1 if marked else 0


def _buffer(row: np.ndarray, instruction: Instruction) -> None:
    fields = instruction.fields
    if instruction.opcode.mnemonic in ("buffer_wbinvl1", "buffer_wbinvl1_vol"):
        row[at.I_KIND] = at.K_CACHE
        return
    _vector(row, instruction)
    row[at.I_KIND] = at.K_BUFFER
    row[at.M_ADDRESS] = vgpr(fields["vaddr"])
    row[at.M_DATA] = row[at.M_DST] = vgpr(fields["vdata"])
    row[at.M_DATA1] = row[at.M_DATA] + row[at.M_BYTES] // 4 * at.ROW_BYTES
    row[at.M_OFFSET] = fields["offset"]
    row[at.M_MODE] = (at.OFFEN if fields["offen"] else 0) | (at.IDXEN if fields["idxen"] else 0)
    row[at.M_SBASE] = 16 * fields["srsrc"]
    row[at.M_SOFFSET] = -1
    code = fields["soffset"]
    constant = constant_of(code, Operand("soffset", "u", 32), None)
    if constant is not None:
        row[at.M_OFFSET1] = constant
    elif code < SCALAR_REGISTERS and code != LITERAL_CODE:
        row[at.M_SOFFSET] = 4 * code
    else:
        raise Unsupported(f"scalar offset operand {code} is not implemented")


def _lds(row: np.ndarray, instruction: Instruction) -> None:
    name, fields = instruction.opcode.mnemonic, instruction.fields
    if fields["gds"] or "gds_only" in instruction.opcode.flags:
        raise Unsupported("the global data share is not implemented")
    row[at.M_ADDRESS] = vgpr(fields["addr"])
    row[at.M_DATA], row[at.M_DATA1] = vgpr(fields["data0"]), vgpr(fields["data1"])
    row[at.M_DST] = vgpr(fields["vdst"])
    row[at.M_OFFSET] = fields["offset0"] | fields["offset1"] << 8
    if name in _DS_SPECIAL:
        row[at.I_KIND], row[at.M_SUBKIND] = at.K_LANE_EXCHANGE, _DS_SPECIAL[name]
        if name == "ds_swizzle_b32":
            row[at.M_DATA] = row[at.M_ADDRESS]
        return
    row[at.I_KIND] = at.K_LDS
    transfer = _DS_TRANSFER.fullmatch(name)
    atomic = _DS_ATOMIC.fullmatch(name)
    if transfer:
        row[at.M_CLASS] = at.LOAD if transfer[1] == "read" else at.STORE
        row[at.M_SIGNED] = 1 if transfer[4] == "i" else 0
        size = int(transfer[5]) // 8
        paired, spread = transfer[2], transfer[3]
    elif atomic:
        operation = _DS_ATOMICS.get(f"{atomic[1]} {atomic[4]}", _DS_ATOMICS.get(atomic[1]))
        if name in ("ds_add_f32", "ds_add_rtn_f32"):
            operation = atomics.A_FADD
        if operation is None or (atomic[4] == "f" and operation < atomics.A_FCMPSWAP):
            raise Unsupported("it has no semantics")
        row[at.M_CLASS], row[at.M_ATOMIC] = at.ATOMIC, operation
        row[at.M_RETURN] = 1 if "_rtn_" in name else 0
        size = int(atomic[5]) // 8
        paired, spread = atomic[2], atomic[3]
        if operation in (atomics.A_CMPSWAP, atomics.A_FCMPSWAP):  # DS compares with data0, stores data1
            row[at.M_DATA], row[at.M_DATA1] = vgpr(fields["data1"]), vgpr(fields["data0"])
    else:
        raise Unsupported("it has no semantics")
    row[at.M_BYTES] = size
    if paired:
        scale = size * (_ST64 if spread else 1)
        row[at.M_PAIRED] = 1
        row[at.M_OFFSET], row[at.M_OFFSET1] = fields["offset0"] * scale, fields["offset1"] * scale
