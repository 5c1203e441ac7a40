"""Which instructions the simulator executes: each opcode in random valid words, offered to the program builder.

The site's build makes reference/instructions.md of it.
"""

import random
import re
from collections import Counter
from dataclasses import dataclass

from docs._site.pages import table
from gpusim.base.jit import records, views
from isa.encoding.decoder import DecodeError, decode
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import Instruction
from isa.encoding.operands import UnsupportedInstructionError
from isa.execution.constants import Constants
from isa.execution.program_table import PROGRAM_ROW
from isa.execution.translation import BUILDERS
from isa.lanes import library
from isa.opcodes import ARCHITECTURES, GFX803, Architecture
from isa.opcodes.opcode import Opcode
from tests.support.instruction_words import ENCODING_BITS, forms, opcodes, random_words
from tests.support.llvm_oracle import LATER, ORACLE, ORACLE_VERSION, added_opcodes, read_lines

SAMPLES = 40  # words tried of an opcode and form
IMPLEMENTED, PARTLY, REFUSED = "yes", "partly", "no"
_GRAPHICS = "graphics: the decoder refuses it"
_TITLES = {
    "sop1": "scalar, one source",
    "sop2": "scalar, two sources",
    "sopk": "scalar, 16-bit constant",
    "sopc": "scalar comparisons",
    "sopp": "program control",
    "smem": "scalar memory",
    "vop1": "vector, one source",
    "vop2": "vector, two sources",
    "vopc": "vector comparisons",
    "vop3p": "vector, packed halves, mixed precision, dot products",
    "vop3": "vector, three sources, and the long forms of VOP1, VOP2 and VOPC",
    "ds": "local data share",
    "flat": "flat memory",
    "global": "global memory",
    "scratch": "private memory",
    "mubuf": "untyped buffers",
    "mtbuf": "typed buffers",
    "mimg": "images",
    "vintrp": "interpolation",
    "exp": "export",
}
_HEAD = """# Instruction coverage

Generated from the opcode table (`isa/opcodes`) and the program builder (`isa/execution/translation.py`) by
`.ci/generate`; do not edit. Every opcode that LLVM knows of these GPUs is in the table; each was offered to the program
builder in {samples} random valid encodings of every form it has (plain, SDWA, DPP).

What is refused is refused when a kernel is loaded, with mnemonic, encoding and address, before anything runs. Beyond
single opcodes a kernel is refused for

- the bit GDS of any DS instruction, the bit TFE of any buffer or FLAT instruction,
  TFE, LWE, D16, R128 and A16 of an image instruction;
- image resources and samplers that say more than is there: [images](../explanation/execution.md#images) has what is
  allowed, and a kernel that meets another one is stopped there with the reason;
- `s_setreg` on bits of MODE other than rounding, denormals, DX10_CLAMP and IEEE (bits 9:0);
- `s_set_gpr_idx_on` where the mode at an instruction depends on the way taken or lasts across a jump through a
  register, and where M0 is written otherwise in it;
- the same for operands of `v_readlane` and its kin, and of instructions with a lane mask, with SDWA, DPP or other
  modifiers.
"""
_LLVM = """## Beside LLVM's disassembler

Lines of LLVM {version} (`llvm-mc`) for random words of each opcode's forms are committed (`tests/data/isa`). This is
how many of them are written the same here, by the GPU that adds their opcodes to those of the one above. Where LLVM is
installed, the tests compare further words of all opcodes of each GPU, ask it for opcodes that the tables lack, and
assemble each line again.

{table}
"""
# bits that no instruction is executed with; the page says so once
_NEVER = ("tfe", "gds", "lwe", "d16", "r128", "a16")


@dataclass(frozen=True)
class Coverage:
    """Of one opcode: IMPLEMENTED, PARTLY or REFUSED, and the reasons of what is refused."""

    opcode: Opcode
    state: str
    reasons: tuple[str, ...] = ()


def refusal(instruction: Instruction) -> str | None:
    """Why the program builder refuses an instruction; None where it takes it."""
    builder = BUILDERS.get(instruction.opcode.encoding)
    if builder is None:
        return "this encoding is not implemented"
    try:
        builder(views(records(PROGRAM_ROW))[0], instruction, Constants(), library(), None)
    except UnsupportedInstructionError as reason:
        return str(reason)
    return None


def coverage_of(opcode: Opcode, architecture: Architecture = GFX803, samples: int = SAMPLES) -> Coverage:
    """Tries an opcode's forms, each in so many words."""
    if "refused" in opcode.flags or opcode.encoding not in ENCODING_BITS:
        return Coverage(opcode, REFUSED, (_GRAPHICS,))
    draw = random.Random(f"{opcode.encoding} {opcode.mnemonic}")
    tried, reasons = 0, Counter[str]()
    for form in forms(opcode):
        for _ in range(samples):
            words = random_words(draw, opcode, form, architecture)
            try:
                (instruction,) = decode(
                    b"".join(word.to_bytes(4, "little") for word in words), architecture=architecture
                )
            except DecodeError:
                continue  # not a valid instruction after all
            if any(instruction.fields.get(bit) for bit in _NEVER) and "gds_only" not in opcode.flags:
                continue
            tried += 1
            reason = refusal(instruction)
            if reason is not None:
                reasons[re.sub(r"\b\d+\b", "n", reason)] += 1
    assert tried, f"{opcode.mnemonic}: no random word was valid"
    refused = sum(reasons.values())
    state = IMPLEMENTED if not refused else REFUSED if refused == tried else PARTLY
    return Coverage(opcode, state, tuple(sorted(reasons)))


def coverage(architecture: Architecture = GFX803, samples: int = SAMPLES) -> dict[str, list[Coverage]]:
    """Of every opcode, by encoding, by so many words of a form; of a later architecture what the one before has not."""
    names = list(ARCHITECTURES)
    at = names.index(architecture.name)
    before = set(ARCHITECTURES[names[at - 1]].opcodes()) if at else set()
    tables = {
        encoding: [coverage_of(table[n], architecture, samples) for n in sorted(table) if table[n] not in before]
        for encoding, table in architecture.tables.items()
    }
    return {encoding: rows for encoding, rows in tables.items() if rows}


def llvm_table() -> str:
    """LLVM's committed lines beside those written here, by the architecture that adds their opcodes."""
    rows = []
    for name, path in {GFX803.name: ORACLE, **LATER}.items():
        architecture = ARCHITECTURES[name]
        pairs = read_lines(path)
        decoded = [
            decode(b"".join(word.to_bytes(4, "little") for word in words), architecture=architecture)[0]
            for words, _ in pairs
        ]
        same = sum(disassemble(one) == text for one, (_, text) in zip(decoded, pairs, strict=True))
        added = opcodes(architecture) if architecture is GFX803 else added_opcodes(architecture)
        seen = {one.opcode for one in decoded}
        all_mnemonics = {one.mnemonic for one in opcodes(architecture)}
        cells = (
            len(all_mnemonics),
            f"{sum(one in seen for one in added)} of {len(list(added))}",
            len(pairs),
            same,
        )
        rows.append([f"`{name}`", *map(str, cells)])
    return table(["GPU", "mnemonics", "opcodes that it adds, in lines", "lines", "written the same"], rows)


def markdown(found: dict[str, dict[str, list[Coverage]]]) -> str:
    """The page, by architecture."""
    lines = [_HEAD.format(samples=SAMPLES), _LLVM.format(version=ORACLE_VERSION, table=llvm_table())]
    for name, one in found.items():
        lines += _section(name, one)
    return "\n".join(lines).rstrip() + "\n"


def _section(name: str, found: dict[str, list[Coverage]]) -> list[str]:
    names = list(ARCHITECTURES)
    at = names.index(name)
    architecture = ARCHITECTURES[name]
    added = f", what `{names[at - 1]}` has not or has otherwise" if at else ""
    lines = [f"## `{name}` ({architecture.generation}){added}", ""]
    gone = [o for o in ARCHITECTURES[names[at - 1]].opcodes() if o not in set(architecture.opcodes())] if at else []
    kept = {o.mnemonic for o in architecture.opcodes()}
    away = [f"`{o.mnemonic}`" for o in gone if o.mnemonic not in kept and "promoted" not in o.flags]
    if away:
        lines += [f"Gone, or under another name: {', '.join(dict.fromkeys(away))}.", ""]
    if not found:
        return [*lines, "Nothing: it executes what that does.", ""]
    lines += ["| encoding | | opcodes | executed | in part | refused |", "|---|---|---|---|---|---|"]
    for encoding, rows in found.items():
        states = Counter(row.state for row in rows)
        counts = " | ".join(str(states[state]) for state in (IMPLEMENTED, PARTLY, REFUSED))
        lines.append(f"| {encoding.upper()} | {_TITLES[encoding]} | {len(rows)} | {counts} |")
    lines += ["", "### Refused", ""]
    for encoding, rows in found.items():
        lines += _by_reason(encoding, [row for row in rows if row.state == REFUSED])
    lines += ["", "### Executed in part", "", "The forms named are refused, all others are executed.", ""]
    for encoding, rows in found.items():
        lines += _by_reason(encoding, [row for row in rows if row.state == PARTLY])
    lines += ["", "### Executed", ""]
    for encoding, rows in found.items():
        names = [f"`{row.opcode.mnemonic}`" for row in rows if row.state == IMPLEMENTED]
        if names:
            lines += [f"**{encoding.upper()}** ({len(names)}): {', '.join(names)}", ""]
    return lines


def _by_reason(encoding: str, rows: list[Coverage]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault("; ".join(row.reasons), []).append(f"`{row.opcode.mnemonic}`")
    return [f"- {encoding.upper()}, {reason}: {', '.join(names)}" for reason, names in groups.items()]


def page() -> str:
    """The page reference/instructions.md."""
    return markdown({name: coverage(one) for name, one in ARCHITECTURES.items()})
