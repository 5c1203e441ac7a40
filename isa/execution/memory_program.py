"""Program rows of memory instructions: SMEM, FLAT, MUBUF, MIMG, DS."""

import re
from typing import Any

from isa.architecture import LITERAL_CODE, ROW_BYTES, SCALAR_REGISTERS
from isa.encoding.images import image_form
from isa.encoding.instruction import Instruction
from isa.encoding.operands import (
    NO_SCALAR_ADDRESS,
    SEGMENTS,
    EncodedOperand,
    UnsupportedInstructionError,
    address_dwords,
    constant_of,
    loads_into_lds,
    segment_offset,
)
from isa.execution.codes import (
    CLEARS_HALF,
    COMPARE_VALUE,
    DERIVATIVES,
    INDEX_ENABLE,
    LANE_OFFSET,
    LAYER,
    LEVEL,
    LOD_BIAS,
    LOWER_HALF,
    OFFSET_ENABLE,
    PRIVATE_SEGMENT,
    SIGNED,
    TEXEL_OFFSETS,
    UNNORMALISED,
    UPPER_HALF,
    WIDE_ADDRESS,
    Access,
    AtomicOperation,
    InstructionKind,
    LaneExchange,
    ScalarForm,
    Texels,
)
from isa.execution.constants import Constants, vgpr
from isa.execution.operations import OperationTable

_VECTOR_TRANSFER = re.compile(
    r"(?:flat|global|scratch|buffer)_(load|store)_(?:lds_)?(ubyte|sbyte|byte|ushort|sshort|short|dword(?:x[234])?)(_d16)?(_hi)?"
)
_VECTOR_ATOMIC = re.compile(r"(?:flat|global|buffer)_atomic_(\w+?)(_x2)?")
_BUFFER_FORMAT = re.compile(r"buffer_(load|store)_format_(x|xy|xyz|xyzw)")
_TEXELS = {
    **dict.fromkeys(("load", "store", "atomic"), Texels.PLACE),
    "sample": Texels.SAMPLE,
    "gather4": Texels.GATHER,
    "get_resinfo": Texels.SIZES,
}
_VECTOR_BYTES = {
    **dict.fromkeys(("byte", "ubyte", "sbyte"), 1),
    **dict.fromkeys(("short", "ushort", "sshort"), 2),
    "dword": 4,
    "dwordx2": 8,
    "dwordx3": 12,
    "dwordx4": 16,
}
_SIMPLE_ATOMICS = {name.lower(): AtomicOperation[name] for name in ("ADD", "SUB", "AND", "OR", "XOR")}
_SIMPLE_ATOMICS |= {"inc": AtomicOperation.INCREMENT, "dec": AtomicOperation.DECREMENT}
_VECTOR_ATOMICS = _SIMPLE_ATOMICS | {
    "swap": AtomicOperation.SWAP,
    "cmpswap": AtomicOperation.COMPARE_SWAP,
    "smin": AtomicOperation.SIGNED_MIN,
    "umin": AtomicOperation.UNSIGNED_MIN,
    "smax": AtomicOperation.SIGNED_MAX,
    "umax": AtomicOperation.UNSIGNED_MAX,
    "add_f32": AtomicOperation.FLOAT_ADD,
    "pk_add_f16": AtomicOperation.HALF_PAIR_ADD,
    "pk_add_bf16": AtomicOperation.BRAIN_PAIR_ADD,
    "add_f64": AtomicOperation.FLOAT_ADD,
    "min_f64": AtomicOperation.FLOAT_MIN,
    "max_f64": AtomicOperation.FLOAT_MAX,
}
_DS_TRANSFER = re.compile(r"ds_(read|write)(2)?(st64)?_([bui])(\d+)(_d16)?(_hi)?")
_DS_ATOMIC = re.compile(r"ds_([a-z]+)(2)?(st64)?(?:_rtn)?_([buif])(32|64)")
_DS_PAIR_ATOMIC = re.compile(r"ds_(pk_add)(?:_rtn)?_(b?f16)")
_DS_ATOMICS = _SIMPLE_ATOMICS | {
    "rsub": AtomicOperation.REVERSE_SUB,
    "mskor": AtomicOperation.MASKED_OR,
    "wrxchg": AtomicOperation.SWAP,
    "cmpst": AtomicOperation.COMPARE_SWAP,
    "min i": AtomicOperation.SIGNED_MIN,
    "min u": AtomicOperation.UNSIGNED_MIN,
    "max i": AtomicOperation.SIGNED_MAX,
    "max u": AtomicOperation.UNSIGNED_MAX,
    "min f": AtomicOperation.FLOAT_MIN,
    "max f": AtomicOperation.FLOAT_MAX,
    "cmpst f": AtomicOperation.FLOAT_COMPARE_SWAP,
}
_DS_SPECIAL = {
    "ds_swizzle_b32": LaneExchange.SWIZZLE,
    "ds_permute_b32": LaneExchange.PERMUTE,
    "ds_bpermute_b32": LaneExchange.BACKWARD_PERMUTE,
    "ds_append": LaneExchange.APPEND,
    "ds_consume": LaneExchange.CONSUME,
    "ds_nop": LaneExchange.NOTHING,
    "ds_read_addtid_b32": LaneExchange.READ_BY_LANE,
    "ds_write_addtid_b32": LaneExchange.WRITE_BY_LANE,
}
_GRID = {"ds_gws_barrier": InstructionKind.GRID_BARRIER, "ds_gws_init": InstructionKind.GRID_INIT}
_SCALAR_TRANSFER = re.compile(r"s_(buffer_)?(load|store)_dword(?:x(\d+))?")
_SCALAR_CACHE = ("s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol")
_CACHE_CONTROL = ("buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_wbl2", "buffer_invl2", "buffer_inv")
_ST64 = 64


def memory_row(
    row: Any, instruction: Instruction, constants: Constants, library: OperationTable, mode: int | None
) -> None:
    """Fill the program row of a memory instruction; raises UnsupportedInstructionError."""
    encoding = instruction.opcode.encoding
    if encoding == "smem":
        _scalar(row, instruction)
    elif encoding == "ds":
        _lds(row, instruction)
    elif encoding in ("flat", *SEGMENTS):
        _vector(row, instruction)
        _flat(row, instruction)
    elif encoding == "mimg":
        _image(row, instruction)
    else:
        _buffer(row, instruction)


def _scalar(row: Any, instruction: Instruction) -> None:
    name, fields = instruction.opcode.mnemonic, instruction.fields
    row.kind = InstructionKind.SMEM
    row.destination = 4 * fields["sdata"]
    if name in ("s_memtime", "s_memrealtime"):
        row.scalar_form = ScalarForm.CLOCK
        return
    if name in _SCALAR_CACHE:
        row.scalar_form = ScalarForm.CACHE_CONTROL
        return
    match = _SCALAR_TRANSFER.fullmatch(name)
    if match is None:
        raise UnsupportedInstructionError("it has no semantics")
    row.scalar_form = ScalarForm.BUFFER if match[1] else ScalarForm.PLAIN
    row.access = Access.LOAD if match[2] == "load" else Access.STORE
    row.size = 4 * int(match[3] or 1)
    row.resource = 8 * fields["sbase"]
    row.scalar_offset = -1
    if fields["imm"]:
        offset = fields["offset"]
        row.offset = offset - (1 << 21) if "soffset_en" in fields and offset >> 20 else offset
    if fields.get("soffset_en"):
        row.scalar_offset = 4 * fields["soffset"]
    elif not fields["imm"]:
        row.scalar_offset = 4 * (fields["offset"] & 127)


def _vector(row: Any, instruction: Instruction) -> None:
    """Fill in what rows of FLAT and MUBUF instructions share: class, size, atomic operation."""
    name = instruction.opcode.mnemonic
    if instruction.fields.get("tfe"):
        raise UnsupportedInstructionError("its TFE bit is set")
    transfer = _VECTOR_TRANSFER.fullmatch(name)
    if transfer:
        row.access = Access.LOAD if transfer[1] == "load" else Access.STORE
        row.signed = SIGNED if transfer[2] in ("sbyte", "sshort") else 0
        row.size = _VECTOR_BYTES[transfer[2]]
        if transfer[3] and row.access == Access.LOAD:
            row.signed |= _half_of(instruction, transfer[4])
        return
    atomic = _VECTOR_ATOMIC.fullmatch(name)
    if atomic is None or atomic[1] not in _VECTOR_ATOMICS:
        raise UnsupportedInstructionError("it has no semantics")
    row.access = Access.ATOMIC
    row.atomic = _VECTOR_ATOMICS[atomic[1]]
    row.size = 8 if atomic[2] or name.endswith("f64") else 4
    row.returns = instruction.fields["glc"]


def _flat(row: Any, instruction: Instruction) -> None:
    fields, encoding = instruction.fields, instruction.opcode.encoding
    row.kind = InstructionKind.FLAT
    row.address = vgpr(fields["addr"])
    row.data = vgpr(fields["data"]) + _upper_half(instruction)
    row.offset, row.scalar_offset = segment_offset(instruction), -1
    if encoding in SEGMENTS and fields["saddr"] != NO_SCALAR_ADDRESS:
        row.scalar_offset = 4 * fields["saddr"]
    if row.offset or row.scalar_offset >= 0 or encoding == "scratch":
        row.kind = InstructionKind.SEGMENT
        row.addressing = (0, LANE_OFFSET, WIDE_ADDRESS)[address_dwords(instruction)]
        row.addressing |= PRIVATE_SEGMENT if encoding == "scratch" else 0
    row.data1 = row.data + row.size // 4 * ROW_BYTES
    row.destination = vgpr(fields["vdst"])
    row.to_lds = int(loads_into_lds(instruction))
    marked = fields["glc"] and fields["slc"] and row.access == Access.LOAD and row.size == 8
    row.sparse = 1 if marked else 0


def _half_of(instruction: Instruction, upper: str | None) -> int:
    """Return the flags of a load into half of a register."""
    half = UPPER_HALF if upper else LOWER_HALF
    return half | CLEARS_HALF if instruction.architecture.d16_clears else half


def _upper_half(instruction: Instruction) -> int:
    """Return the byte within a register at which the data of a store lies: 2 for one of its upper half, else 0."""
    return 2 if {"store", "high"} <= instruction.opcode.flags else 0


def _buffer(row: Any, instruction: Instruction) -> None:
    fields = instruction.fields
    if instruction.opcode.mnemonic in _CACHE_CONTROL:
        row.kind = InstructionKind.CACHE_CONTROL
        return
    formatted = _BUFFER_FORMAT.fullmatch(instruction.opcode.mnemonic)
    row.to_lds = int(loads_into_lds(instruction))
    if formatted and not fields.get("tfe"):
        row.kind, row.texels = InstructionKind.IMAGE, Texels.BUFFER
        row.access = Access.LOAD if formatted[1] == "load" else Access.STORE
        row.components = (1 << len(formatted[2])) - 1
        row.size = 4 * len(formatted[2])
    else:
        _vector(row, instruction)
        row.kind = InstructionKind.BUFFER
    row.address = vgpr(fields["vaddr"])
    row.data = row.destination = vgpr(fields["vdata"])
    row.data += _upper_half(instruction)
    row.data1 = row.data + row.size // 4 * ROW_BYTES
    row.offset = fields["offset"]
    row.addressing = (OFFSET_ENABLE if fields["offen"] else 0) | (INDEX_ENABLE if fields["idxen"] else 0)
    row.resource = 16 * fields["srsrc"]
    row.scalar_offset = -1
    code = fields["soffset"]
    constant = constant_of(code, EncodedOperand("soffset", "u", 32), None)
    if constant is not None:
        row.offset1 = constant
    elif code < SCALAR_REGISTERS and code != LITERAL_CODE:
        row.scalar_offset = 4 * code
    else:
        raise UnsupportedInstructionError(f"scalar offset operand {code} is not implemented")


def _image(row: Any, instruction: Instruction) -> None:
    fields, form = instruction.fields, image_form(instruction.opcode)
    if form.packed or form.kind in ("get_lod", "gather4h"):
        raise UnsupportedInstructionError("it has no semantics")
    for bit in ("tfe", "lwe", "d16", "r128", "a16"):
        if fields.get(bit):
            raise UnsupportedInstructionError(f"its {bit.upper()} bit is set")
    mask = fields["dmask"]
    row.kind, row.components = InstructionKind.IMAGE, mask
    row.texels = _TEXELS[form.kind]
    row.access = Access.STORE if form.kind == "store" else Access.LOAD
    if form.kind == "atomic":
        row.access, row.atomic, row.returns = Access.ATOMIC, _VECTOR_ATOMICS[form.what], fields["glc"]
        if mask != (3 if form.what == "cmpswap" else 1):
            raise UnsupportedInstructionError(f"an atomic with dmask 0x{mask:x} (one of 32 bits has 0x1, cmpswap 0x3)")
    elif form.kind == "gather4":
        if mask not in (1, 2, 4, 8):
            raise UnsupportedInstructionError(f"dmask 0x{mask:x} (it takes one component)")
    elif not mask:
        raise UnsupportedInstructionError("dmask 0x0 (it names no component)")
    row.size = 4
    row.address = vgpr(fields["vaddr"])
    row.data = row.destination = vgpr(fields["vdata"])
    row.data1 = row.data + ROW_BYTES
    row.resource = 16 * fields["srsrc"]
    row.sampler = 16 * fields.get("ssamp", 0)
    parts = {
        TEXEL_OFFSETS: form.offsets,
        LOD_BIAS: form.bias,
        COMPARE_VALUE: form.compares,
        DERIVATIVES: form.derivatives,
        LAYER: fields["da"],
        LEVEL: form.level and form.kind in ("load", "store"),
        UNNORMALISED: fields["unrm"],
    }
    row.image_parts = sum(bit for bit, has in parts.items() if has)


def _lds(row: Any, instruction: Instruction) -> None:
    name, fields = instruction.opcode.mnemonic, instruction.fields
    if name in _GRID:
        row.kind, row.address, row.offset = _GRID[name], vgpr(fields["addr"]), fields["offset0"]
        return
    if fields["gds"] or "gds_only" in instruction.opcode.flags:
        raise UnsupportedInstructionError("the global data share is not implemented")
    row.address = vgpr(fields["addr"])
    row.data, row.data1 = vgpr(fields["data0"]) + _upper_half(instruction), vgpr(fields["data1"])
    row.destination = vgpr(fields["vdst"])
    row.offset = fields["offset0"] | fields["offset1"] << 8
    if name in _DS_SPECIAL:
        row.kind, row.exchange = InstructionKind.LANE_EXCHANGE, _DS_SPECIAL[name]
        if name == "ds_swizzle_b32":
            row.data = row.address
        return
    row.kind = InstructionKind.LDS
    transfer = _DS_TRANSFER.fullmatch(name)
    atomic, pair = _DS_ATOMIC.fullmatch(name), _DS_PAIR_ATOMIC.fullmatch(name)
    if pair:
        row.access, row.atomic = Access.ATOMIC, _VECTOR_ATOMICS[f"{pair[1]}_{pair[2]}"]
        row.returns, row.size, row.alignment = int("_rtn_" in name), 4, 4
        return
    if transfer:
        row.access = Access.LOAD if transfer[1] == "read" else Access.STORE
        row.signed = SIGNED if transfer[4] == "i" else 0
        if transfer[6] and row.access == Access.LOAD:
            row.signed |= _half_of(instruction, transfer[7])
        size = int(transfer[5]) // 8
        paired, spread = transfer[2], transfer[3]
    elif atomic:
        operation = _DS_ATOMICS.get(f"{atomic[1]} {atomic[4]}", _DS_ATOMICS.get(atomic[1]))
        if atomic[1] == "add" and atomic[4] == "f":
            operation = AtomicOperation.FLOAT_ADD
        if operation is None or (atomic[4] == "f" and operation < AtomicOperation.FLOAT_COMPARE_SWAP):
            raise UnsupportedInstructionError("it has no semantics")
        row.access, row.atomic = Access.ATOMIC, operation
        row.returns = 1 if "_rtn_" in name else 0
        size = int(atomic[5]) // 8
        paired, spread = atomic[2], atomic[3]
        if operation in (
            AtomicOperation.COMPARE_SWAP,
            AtomicOperation.FLOAT_COMPARE_SWAP,
        ):  # DS compares with data0, stores data1
            row.data, row.data1 = vgpr(fields["data1"]), vgpr(fields["data0"])
    else:
        raise UnsupportedInstructionError("it has no semantics")
    row.size = row.alignment = size
    if transfer:
        row.alignment = 1 if instruction.architecture.unaligned_lds else min(size, 4)
    if paired:
        scale = size * (_ST64 if spread else 1)
        row.paired = 1
        row.offset, row.offset1 = fields["offset0"] * scale, fields["offset1"] * scale
