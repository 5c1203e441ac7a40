"""LLVM's disassembler as oracle: what llvm-mc writes for instruction words. Also writes the committed oracle lines.

python -m tests.support.llvm_oracle > tests/data/isa/oracle.txt             all lines of gfx803
python -m tests.support.llvm_oracle missing >> tests/data/isa/oracle.txt    those of opcodes that have none yet
python -m tests.support.llvm_oracle gfx900 > tests/data/isa/oracle_gfx900.txt    what gfx803 has not; so of later ones

LLVM 19 is the oracle: the committed lines are its text. An older one can be asked too, but for `KNOWN_OLD_ERRORS`.
"""

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from isa.encoding.decoder import DecodeError, decode_one
from isa.opcodes import ARCHITECTURES, GFX803, Architecture
from isa.opcodes.formats import LITERAL
from isa.opcodes.opcode import Opcode
from tests.support.instruction_words import forms, opcodes, random_words

_PAD, _SEPARATOR = 0xBF801234, 0xBF807ABC  # s_nop 0x1234, s_nop 0x7abc: no random instruction is either
LINES_AN_OPCODE = 3


_DATA = Path(__file__).resolve().parents[1] / "data" / "isa"
ORACLE = _DATA / "oracle.txt"
ORACLE_VERSION = 19

# Text of instructions that LLVM before 19 writes in another way, and why it is the older one that is wrong; seen with
# LLVM 14 on gfx803.
KNOWN_OLD_ERRORS = (
    # TFE returns a status dword after the data (GCN3 ISA manual, chapter 8): v[194:196] for a D16 load of two
    # components, which take a register each on gfx803. Older: the data's registers alone.
    re.compile(r"buffer_(load|store)_.* tfe$"),
    # Older: no modifiers of the DPP form, SDWA forms refused.
    re.compile(r"v_cndmask_b32_(dpp|sdwa) "),
    # Two operands that are the same literal. Older: the first of them never by the name of an inline constant.
    re.compile(r"v_(madmk|madak)_f16 "),
)
# Kinds of a vector instruction's operand whose literal an older LLVM writes by its low 16 bits, or as an inline
# constant that has other bits; LLVM 19 (AMDGPUInstPrinter::printImmediateInt16) by all 32.
KNOWN_OLD_LITERALS = {"i16", "u16", "f64"}


def find_llvm_mc() -> str | None:
    """The disassembler's path, the newest name first."""
    for name in ("llvm-mc-19", "llvm-mc"):
        if path := shutil.which(name):
            return path
    return None


def version_of(tool: str) -> int:
    """LLVM's major version."""
    text = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"LLVM version (\d+)", text)
    assert found, f"{tool} --version says no version: {text}"
    return int(found[1])


def is_oracle_for(version: int, words: list[int], text: str) -> bool:
    """Whether a version of LLVM can be trusted about an instruction, which is `text` in LLVM 19."""
    if version >= ORACLE_VERSION:
        return True
    return literal_kind(words) not in KNOWN_OLD_LITERALS and not any(e.match(text) for e in KNOWN_OLD_ERRORS)


def literal_kind(words: list[int]) -> str | None:
    """Kind of the operand of a vector instruction whose value is a literal; None without one."""
    code = b"".join(word.to_bytes(4, "little") for word in words)
    try:
        instruction = decode_one(code, 0, 0, len(code))
    except DecodeError:
        return None
    if instruction.opcode.encoding not in ("vop1", "vop2", "vopc") or instruction.fields.get("src0") != LITERAL:
        return None
    return dict(operand.partition(":")[::2] for operand in instruction.opcode.operands.split())["src0"]


def oracle_lines(tool: str, items: list[list[int]], gpu: str = GFX803.name) -> list[str | None]:
    """Text of each item's first instruction, spaces normalised; None where LLVM knows no instruction.

    Two s_nop follow each item, so that a wrong length cannot swallow the next one.
    """
    lines = []
    for words in items:
        lines += [_bytes_text(words), _bytes_text([_PAD]), _bytes_text([_SEPARATOR])]
    command = [tool, "-arch=amdgcn", f"-mcpu={gpu}", "-disassemble"]
    result = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    refused = {int(line.split(":")[1]) for line in result.stderr.splitlines() if line.startswith("<stdin>:")}
    found: list[str | None] = []
    current: list[str] = []
    for line in result.stdout.splitlines():
        text = " ".join(line.partition("//")[0].split())
        if text == "s_nop 0x7abc":
            refuse = 3 * len(found) + 1 in refused or not current
            found.append(None if refuse else current[0])
            current = []
        elif text and text != ".text":
            current.append(text)
    assert len(found) == len(items), f"{tool}: {len(found)} answers for {len(items)} items: {result.stderr[-500:]}"
    return found


def assembled(tool: str, texts: Sequence[str], gpu: str) -> list[bytes | None]:
    """Bytes of each line of assembly text; None where LLVM refuses it."""
    command = [tool, "-arch=amdgcn", f"-mcpu={gpu}", "-show-encoding"]
    result = subprocess.run(command, input="\n".join(texts) + "\n", capture_output=True, text=True, check=False)
    refused = {int(line) for line in re.findall(r"^<stdin>:(\d+):\d+: error:", result.stderr, re.MULTILINE)}
    found = (
        bytes(int(one, 16) for one in line.split(",")) for line in re.findall(r"encoding: \[(.*)\]", result.stdout)
    )
    return [None if number in refused else next(found) for number in range(1, 1 + len(texts))]


def _bytes_text(words: list[int]) -> str:
    return ",".join(f"0x{byte:02x}" for word in words for byte in word.to_bytes(4, "little"))


def read_lines(path: Path) -> list[tuple[list[int], str]]:
    """(words, text) of the committed oracle lines."""
    pairs = []
    for line in path.read_text().splitlines():
        words, _, text = line.partition(" | ")
        pairs.append(([int(word, 16) for word in words.split()], text))
    return pairs


def _lines(tool: str, wanted: Sequence[Opcode], architecture: Architecture = GFX803) -> Iterator[str]:
    """Oracle lines of opcodes: every form, some several times; only what the tool can be trusted about."""
    draw = random.Random(int(architecture.name[3:], 16))
    version = version_of(tool)
    items = [
        random_words(draw, opcode, form, architecture)
        for opcode in wanted
        for form in forms(opcode, architecture)
        for _ in range(LINES_AN_OPCODE if form == "plain" else 1)
    ]
    for words, text in zip(items, oracle_lines(tool, items, architecture.name), strict=True):
        if text is not None and "Invalid" not in text and is_oracle_for(version, words, text):
            yield " ".join(f"{word:08x}" for word in words) + " | " + text


def added_opcodes(architecture: Architecture) -> list[Opcode]:
    """What an architecture has that the one before it in ARCHITECTURES has not."""
    names = list(ARCHITECTURES)
    before = set(opcodes(ARCHITECTURES[names[names.index(architecture.name) - 1]]))
    return [opcode for opcode in opcodes(architecture) if opcode not in before]


# of architectures that have instructions of their own
LATER = {
    name: _DATA / f"oracle_{name}.txt"
    for name, one in ARCHITECTURES.items()
    if one is not GFX803 and added_opcodes(one)
}


def main(arguments: list[str]) -> None:
    """Prints oracle lines: of every opcode, or of those that have none yet."""
    tool = find_llvm_mc()
    if tool is None:
        raise SystemExit("llvm-mc is not installed")
    architecture = GFX803
    if arguments == ["missing"]:
        seen = {name for _, text in read_lines(ORACLE) for name in _names(text)}
        wanted = [opcode for opcode in opcodes() if opcode.mnemonic not in seen]
    elif arguments and arguments[0] not in LATER:
        raise SystemExit(f"usage: python -m tests.support.llvm_oracle [missing | {' | '.join(LATER)}]")
    elif version_of(tool) < ORACLE_VERSION:
        raise SystemExit(f"{tool} is LLVM {version_of(tool)}: all lines need LLVM {ORACLE_VERSION}")
    elif arguments:
        architecture = ARCHITECTURES[arguments[0]]
        wanted = added_opcodes(architecture)
    else:
        wanted = list(opcodes())
    for line in _lines(tool, wanted, architecture):
        print(line)


def _names(text: str) -> tuple[str, ...]:
    """A disassembled instruction's mnemonic with and without the suffix of its form."""
    name = text.split()[0]
    return name, re.sub(r"_(e32|e64|sdwa|dpp)$", "", name)


if __name__ == "__main__":
    main(sys.argv[1:])
