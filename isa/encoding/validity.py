"""Which field values an instruction may have: register ranges, source numbers, modifiers, unused fields.

The decoder refuses what the hardware does not define, instead of guessing: a number of the reserved part of the
operand space, a register group that is misaligned or ends after the last register, a modifier on an operand
whose type has none, a bit in a field that the instruction does not use (GCN3 ISA manual, chapters 5, 6 and 13).
"""

from collections.abc import Callable
from functools import cache

from isa.architecture import FIRST_VGPR, INLINE_CONSTANTS, LITERAL_CODE, M0, PRIVATE_LIMIT, SHARED_BASE, VECTOR_FILE
from isa.encoding.images import image_address_dwords, image_data_dwords, image_form
from isa.encoding.operand_text import bits_of
from isa.encoding.operands import NO_SCALAR_ADDRESS, SEGMENTS
from isa.opcodes import Architecture
from isa.opcodes.opcode import Opcode

_SGPR_END = 102
_SPECIAL_PAIRS = (102, 104, 106, 108, 110, 126)  # FLAT_SCRATCH, XNACK_MASK, VCC, TBA, TMA, EXEC
_TTMP_0, _TTMP_END = 112, 124
_RESERVED_125 = 125
_SCALAR_REGISTERS = 128
_WHOLE = 6  # SDWA's selection

Check = Callable[[dict[str, int]], str | None]

# Fields that no operand names but that instructions of the encoding use.
_MODIFIERS = {
    "smem": ("imm", "glc", "nv", "soffset_en", "soffset"),
    "ds": ("gds", "acc", "offset0", "offset1"),
    "flat": ("glc", "slc", "scc", "acc", "tfe", "vdst", "offset", "nv"),
    **dict.fromkeys(("global", "scratch"), ("glc", "slc", "scc", "acc", "vdst", "offset", "nv", "saddr", "sve")),
    "mubuf": ("glc", "slc", "scc", "acc", "tfe", "lds", "offen", "idxen", "offset"),
    "mtbuf": ("glc", "slc", "scc", "acc", "tfe", "offen", "idxen", "offset", "dfmt", "nfmt"),
    "mimg": ("slc", "scc", "acc", "lwe", "tfe", "r128", "a16", "da", "glc", "unrm", "dmask", "d16"),
    "vop3": ("abs", "neg", "omod", "clamp"),
    "vop3b": ("neg", "omod", "clamp"),
    "matrix": ("cbsz", "abid", "acc_cd", "blgp", "acc"),
    "vop3p": ("neg", "neg_hi", "op_sel", "op_sel_hi", "op_sel_hi2", "clamp"),
}


def scalar_problem(number: int, bits: int) -> str | None:
    """Say what is wrong with scalar register `number` as the first of a group of `bits`; None if nothing is."""
    count = max(1, bits // 32)
    if count == 1:
        return "register number 125 is reserved" if number == _RESERVED_125 else None
    if number % min(count, 4):
        return f"scalar register {number} cannot begin a group of {count} registers: misaligned"
    if count == 2 and number in _SPECIAL_PAIRS:
        return None
    if number + count <= _SGPR_END or _TTMP_0 <= number <= _TTMP_END - count:
        return None
    return f"scalar registers {number} to {number + count - 1} are no group"


def source_problem(number: int, bits: int, literal: bool) -> str | None:
    """Say what is wrong with source number 0 to 511 of `bits`; None: nothing. literal: whether 255 is allowed."""
    if number >= FIRST_VGPR:
        return vgpr_problem(number - FIRST_VGPR, bits)
    if number < _SCALAR_REGISTERS:
        return scalar_problem(number, bits)
    if number <= 208 or 240 <= number <= 248 or 251 <= number <= 254:
        return None
    if number == LITERAL_CODE:
        return None if literal else "a literal constant is not allowed here"
    return f"source operand number {number} is reserved"


def vgpr_problem(number: int, bits: int) -> str | None:
    """Say what is wrong with VGPR `number` as the first of a group of `bits`; None if nothing is."""
    last = number + max(1, bits // 32) - 1
    if last // VECTOR_FILE == number // VECTOR_FILE:
        return None
    return f"vector register {'va'[number // VECTOR_FILE]}{last - number // VECTOR_FILE * VECTOR_FILE} does not exist"


@cache
def checks_of(opcode: Opcode, layout: str, architecture: Architecture) -> tuple[Check, ...]:
    """Return the checks of an opcode whose fields come from format `layout`; each returns what is wrong, or None."""
    checks: list[Check] = []
    operands = [operand.partition(":")[::2] for operand in opcode.operands.split()]
    named = {name for name, _ in operands}
    used = named | set(_MODIFIERS.get(layout, ()))
    if not operands:
        used = {"gds", "offset0", "offset1"} if "gds_only" in opcode.flags else set()
        used |= {"glc", "scc"} if opcode.flags & {"cache_bits", "ignored_cache_bits"} else set()
    if layout == "smem" and "offset" not in named:
        used.discard("imm")
    if "sdst" in named and "vdst" not in named:
        used.add("vdst")
    if "op_sel" in opcode.flags:
        used.add("op_sel")
    if layout in SEGMENTS and "to_lds" in opcode.flags:
        used.add("lds")
    if "lds_only" in opcode.flags:
        used.discard("acc")
    if "sparse" in opcode.flags:
        used.discard("blgp")
    if "no_return" in opcode.flags:
        used.discard("glc")
    if "no_scc" in opcode.flags:
        used.discard("scc")
    unused = tuple(name for name, _, _ in architecture.formats[layout].fields if name not in used and name != "op")
    checks.append(lambda fields: _nonzero(fields, unused))
    for name, kind in operands:
        check = _operand_check(opcode, name, kind, architecture)
        if check is not None:
            checks.append(check)
    if layout in ("vop3", "vop3b"):
        checks.append(_modifier_check(opcode, dict(operands)))
    if layout in ("mubuf", "mtbuf") and operands:
        checks.append(lambda fields: _buffer_problem(opcode, fields))
    if layout == "mimg":
        checks.append(lambda fields: _image_problem(opcode, fields, architecture))
    if "to_lds" in opcode.flags:
        checks.append(_lds_problem)
    if "gds_only" in opcode.flags:
        checks.append(lambda fields: None if fields["gds"] else "needs the GDS bit")
    if "no_gds" in opcode.flags:
        checks.append(lambda fields: "does not work on GDS" if fields["gds"] else None)
    if ("sdata", "imm") not in operands and "sdata" in named:
        checks.append(lambda fields: "M0 and EXEC are no scalar data" if fields["sdata"] >= M0 else None)
    for number in range(3):
        for kind in ("scalar", "sgpr", "vgpr", "mask", "constant"):
            if f"{kind}_src{number}" in opcode.flags:
                name = f"ssrc{number}" if f"ssrc{number}" in named else f"src{number}"
                checks.append(_kind_check(name, kind))
    return tuple(checks)


def _nonzero(fields: dict[str, int], unused: tuple[str, ...]) -> str | None:
    for name in unused:
        if fields.get(name):
            return f"field {name} is {fields[name]}, but the instruction does not use it"
    return None


def _operand_check(opcode: Opcode, name: str, kind: str, architecture: Architecture) -> Check | None:
    if name in ("vcc", "simm16", "literal", "format", "vaddr", "vdata") or kind in ("imm", "index"):
        return None
    if name == "offset":
        return _scalar_offset_problem
    if name == "saddr":
        return _saddr_problem(opcode)
    if kind == "segment":
        return lambda fields: vgpr_problem(fields["addr"], 64 if _is_wide(opcode, fields) else 32)
    bits = 32 if kind == "mix" else bits_of(kind)
    if name == "sbase":
        return lambda fields: scalar_problem(2 * fields["sbase"], bits)
    if name in ("srsrc", "ssamp"):
        return lambda fields: scalar_problem(4 * fields[name], bits)
    if name in ("sdst", "sdata"):
        return lambda fields: _destination_problem(fields[name], bits)
    if name == "vdst" and "atomic" in opcode.flags and opcode.encoding == "flat":
        return lambda fields: vgpr_problem(fields["vdst"], bits) if fields["glc"] else None
    if name == "vsrc1":
        return lambda fields: (
            source_problem(fields["vsrc1"], bits, False)
            if fields.get("src1_scalar")
            else vgpr_problem(fields["vsrc1"], bits)
        )
    if name in ("vdst", "addr", "data", "data0", "data1"):
        return lambda fields: vgpr_problem(fields[name], bits)
    literal = opcode.encoding in ("sop1", "sop2", "sopc", "vop1", "vop2", "vopc")
    apertures = range(SHARED_BASE, PRIVATE_LIMIT + 1) if architecture.aperture_registers else ()
    return lambda fields: None if fields[name] in apertures else source_problem(fields[name], bits, literal)


def _is_wide(opcode: Opcode, fields: dict[str, int]) -> bool:
    return opcode.encoding == "global" and fields["saddr"] == NO_SCALAR_ADDRESS


def _saddr_problem(opcode: Opcode) -> Check:
    bits = 64 if opcode.encoding == "global" else 32

    def check(fields: dict[str, int]) -> str | None:
        if fields["saddr"] == NO_SCALAR_ADDRESS:
            return None
        if opcode.encoding == "scratch" and fields["addr"] and "sve" not in fields:
            return "a vector register beside a scalar address"
        return scalar_problem(fields["saddr"], bits)

    return check


def _scalar_offset_problem(fields: dict[str, int]) -> str | None:
    if fields.get("soffset_en"):
        if fields["offset"] and not fields["imm"]:
            return "an offset without the bit that says so"
        return scalar_problem(fields["soffset"], 32)
    if fields.get("soffset"):
        return "a register for an offset without the bit that says so"
    return None if fields["imm"] else _offset_problem(fields["offset"])


def _offset_problem(number: int) -> str | None:
    return scalar_problem(number, 32) if number < _SCALAR_REGISTERS else f"offset register number {number} is reserved"


def _destination_problem(number: int, bits: int) -> str | None:
    if number >= _SCALAR_REGISTERS:
        return f"scalar destination {number} is no register"
    return scalar_problem(number, bits)


def _kind_check(name: str, kind: str) -> Check:
    def check(fields: dict[str, int]) -> str | None:
        number = fields[name]
        if kind == "vgpr":
            return None if number >= FIRST_VGPR else f"{name} must be a vector register"
        if kind == "scalar":
            return f"{name} must not be a vector register" if number >= FIRST_VGPR else None
        if kind == "constant":
            allowed = number >= FIRST_VGPR or number in INLINE_CONSTANTS
            return None if allowed else f"{name} must be a vector register or an inline constant"
        if kind == "mask":
            return None if number < _TTMP_END else f"{name} must be a scalar register pair or VCC"
        return None if number < _SCALAR_REGISTERS else f"{name} must be a scalar register"

    return check


def _modifier_check(opcode: Opcode, kinds: dict[str, str]) -> Check:
    allowed = 0
    for number in range(3):
        if has_float_modifiers(opcode, kinds.get(f"src{number}", "")):
            allowed |= 1 << number
    floats = kinds.get("vdst", "").startswith("f")
    compares = "compare" in opcode.flags and kinds["src0"][0] == "f" and kinds["src1"][0] == "f"
    clamps = floats or compares or "clamp" in opcode.flags

    def check(fields: dict[str, int]) -> str | None:
        if (fields["neg"] | fields.get("abs", 0)) & ~allowed:
            return "negation or magnitude of an operand that is no floating-point number"
        if fields["omod"] and not floats:
            return "output modifier (omod) without a floating-point result"
        return "clamp of a result that has none" if fields["clamp"] and not clamps else None

    return check


def has_float_modifiers(opcode: Opcode, kind: str) -> bool:
    """Tell whether a source of type `kind` takes negation and magnitude: floats, and data of v_cndmask_b32."""
    return kind.startswith("f") or ("float_sources" in opcode.flags and kind == "b32")


def _buffer_problem(opcode: Opcode, fields: dict[str, int]) -> str | None:
    kind = opcode.operands.partition(" ")[0].partition(":")[2]
    tfe = fields.get("tfe", 0)
    bits = max(32, bits_of(kind)) + 32 * tfe
    to_lds = fields.get("lds", 0)
    if to_lds and ("to_lds" not in opcode.flags or tfe):
        return "the LDS bit on an instruction that cannot load to LDS"
    if tfe and ("atomic" in opcode.flags or opcode.encoding == "mtbuf"):
        return "the TFE bit on an atomic or a typed access"
    if not to_lds:
        problem = vgpr_problem(fields["vdata"], bits)
        if problem:
            return problem
    return vgpr_problem(fields["vaddr"], 32 * (fields["offen"] + fields["idxen"]))


def _lds_problem(fields: dict[str, int]) -> str | None:
    return "an accumulation register for data that go to LDS" if fields.get("lds") and fields.get("acc") else None


def _image_problem(opcode: Opcode, fields: dict[str, int], architecture: Architecture) -> str | None:
    if fields["d16"] and not image_form(opcode).allows_d16:
        return "the D16 bit on an instruction that has no data of 16 bits"
    data = vgpr_problem(fields["vdata"], 32 * image_data_dwords(opcode, fields, architecture))
    return data or vgpr_problem(fields["vaddr"], 32 * image_address_dwords(opcode, fields)[0])


def extension_problem(opcode: Opcode, fields: dict[str, int], wide: bool = False) -> str | None:
    """Say what is wrong with the SDWA or DPP word that is in an instruction's fields.

    Args:
        opcode: the instruction.
        fields: its fields, with those of the word.
        wide: DPP has row_newbcast, and moves operands of 64 bits by it.

    Returns:
        The text; None if nothing is wrong.
    """
    kinds = dict(operand.partition(":")[::2] for operand in opcode.operands.split())
    for number, name in ((0, "src0"), (1, "vsrc1")):
        floats = has_float_modifiers(opcode, kinds.get(name, ""))
        signs = fields[f"src{number}_neg"] | fields[f"src{number}_abs"]
        if signs and not floats:
            return f"negation or magnitude of {name}, which is no floating-point number"
        if fields.get(f"src{number}_sext", 0) and (floats or name not in kinds):
            return f"sign extension of {name}, which is no integer"
        if fields.get(f"src{number}_scalar") and name not in kinds:
            return f"a scalar register for {name}, which it has not"
        if fields.get(f"src{number}_sel", 0) > 6 or (name not in kinds and fields.get(f"src{number}_sel", 0)):
            return f"undefined selection of {name}"
    if fields.get("omod") and not kinds.get("vdst", "").startswith("f"):
        return "output modifier (omod) without a floating-point result"
    if "whole_result" in opcode.flags and fields.get("dst_sel", _WHOLE) != _WHOLE:
        return "a part of a result that is written whole"
    if fields.get("dst_sel", 0) > 6 or fields.get("dst_unused", 0) > 2:
        return "undefined destination selection"
    if "dpp_ctrl" in fields and wide and any(bits_of(kind) == 64 for kind in kinds.values() if kind):
        return None if _is_new_broadcast(fields["dpp_ctrl"]) else "operands of 64 bits have row_newbcast alone"
    if "dpp_ctrl" in fields and not (
        _is_dpp_control(fields["dpp_ctrl"]) or (wide and _is_new_broadcast(fields["dpp_ctrl"]))
    ):
        return f"undefined DPP control 0x{fields['dpp_ctrl']:x}"
    return None


def _is_new_broadcast(control: int) -> bool:
    return control >> 4 == 0x15


def _is_dpp_control(control: int) -> bool:
    shifts = any(first < control < first + 16 for first in (0x100, 0x110, 0x120))
    return control < 0x100 or shifts or control in (0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143)
