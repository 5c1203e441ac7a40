"""Mutated code objects as Hypothesis strategies, and the process that they are tried in."""

import io
import os
import random
import selectors
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from hypothesis import strategies as st

from docs._site.isa_coverage import refusal
from isa.encoding.decoder import DecodeError, decode
from isa.opcodes.opcode import BRANCH, LDS, SMEM, VMEM
from tests.corpus.build import BASE, Variant, committed
from tests.support.instruction_words import forms, opcodes, random_words

ROOT = Path(__file__).resolve().parents[2]
ANSWER_S = 60  # a hang, on however busy a machine
SECTIONS = (".text", ".rodata", ".note", ".dynsym", ".symtab", ".dynamic", ".rela.dyn")
S_ENDPGM = 0xBF810000
PRIMED_BYTES = 3400  # of code: what `primed_programs` writes, at most
V_MOV_LITERAL, S_MOV_LITERAL = 0x7E0002FF, 0xBE8000FF  # v_mov_b32 v0, literal; s_mov_b32 s0, literal
# halves of addresses: of the worker's arrays and around their ends, of LDS and private memory, and wherever sums wrap
LOW_WORDS = (
    0,
    4,
    63,
    0xFFF,
    0x1000,
    0x1040,
    0x1FFC,
    0x1FFD,
    0x2000,
    0x3010,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFC,
    0xFFFFFFFF,
)
HIGH_WORDS = (1, 1, 1, 1, 0, 0x10001, 0x20000000, 0x20000001, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF)
INTERESTING = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC)


@dataclass(frozen=True)
class Original:
    """A code object, where its sections lie in the file, and the file offsets of its kernels' entries."""

    name: str
    data: bytes
    sections: dict[str, tuple[int, int]]
    entries: tuple[int, ...]


@cache
def originals() -> tuple[Original, ...]:
    """Small objects of every code-object version."""
    chosen = ((BASE, "graph"), (BASE, "scratch"), (BASE, "places"), (BASE, "collective"))
    chosen += ((Variant(14, 3, 2), "graph"), (Variant(14, 1, 3), "matrix"), (Variant(19, 1, 4), "elementwise"))
    return tuple(_original(f"{variant.name}/{name}", committed(variant)[name]) for variant, name in chosen)


def _original(name: str, data: bytes) -> Original:
    from isa.object.code_object import load_code_object

    elf = ELFFile(io.BytesIO(data))
    sections = {
        s.name: (s["sh_offset"], s["sh_size"]) for s in elf.iter_sections() if s.name in SECTIONS and s["sh_size"]
    }
    sections["header"] = (0, 64)
    sections["section headers"] = (elf["e_shoff"], len(data) - elf["e_shoff"])
    text = sections[".text"][0]
    return Original(name, data, sections, tuple(text + k.entry for k in load_code_object(data).kernels.values()))


@dataclass(frozen=True)
class Mutant:
    """A changed object; prints as what was changed."""

    data: bytes = field(repr=False)
    origin: str
    changes: tuple[str, ...]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis prints a failing one."""
        printer.text(repr(self))


@st.composite
def mutants(draw: st.DrawFn) -> Mutant:
    """An object with some bytes or words changed, or cut off."""
    original = draw(st.sampled_from(originals()))
    data = bytearray(original.data)
    changes = []
    for _ in range(draw(st.integers(1, 4))):
        start, size = original.sections[draw(st.sampled_from(sorted(original.sections)))]
        at = start + draw(st.integers(0, size - 1))
        match draw(st.sampled_from(["bit", "byte", "word", "copy"])):
            case "bit":
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "byte":
                data[at] = draw(st.integers(0, 255))
            case "word":
                at &= ~3
                data[at : at + 4] = draw(st.sampled_from(INTERESTING)).to_bytes(4, "little")
            case "copy":
                other = draw(st.integers(0, len(original.data) - 16))
                data[at : at + 8] = original.data[other : other + 8]
        changes.append(f"{at:#x}: {data[at : at + 8].hex(' ')}")
    del data[len(original.data) :]
    if draw(st.integers(0, 19)) == 0:
        del data[draw(st.integers(0, len(data))) :]
        changes.append(f"cut to {len(data)} bytes")
    return Mutant(bytes(data), original.name, tuple(changes))


def _executable(choose: random.Random, memory: bool) -> list[int]:
    """Words of a random instruction that no loader refuses by itself."""
    while True:
        opcode = choose.choice(opcodes())
        if not memory and opcode.unit in (LDS, VMEM, SMEM, BRANCH):
            continue
        words = random_words(choose, opcode, choose.choice(forms(opcode)))
        try:
            (instruction,) = decode(b"".join(word.to_bytes(4, "little") for word in words))
        except DecodeError:
            continue
        if refusal(instruction) is None:
            return words


@st.composite
def programs(draw: st.DrawFn) -> Mutant:
    """An object whose kernels begin with random valid instructions, memory instructions among them."""
    original = draw(st.sampled_from(originals()))
    choose = random.Random(draw(st.integers(0, 1 << 32)))
    data = bytearray(original.data)
    text, size = original.sections[".text"]
    count = draw(st.integers(1, 20))
    changes = []
    for entry in original.entries:
        words: list[int] = []
        memory = choose.random() < 0.5  # which mostly ends a program: its address is garbage
        for _ in range(count):
            words += _executable(choose, memory)
        if choose.random() < 0.5:
            words.append(S_ENDPGM)  # otherwise the kernel goes on with registers that are garbage now
        contents = b"".join(word.to_bytes(4, "little") for word in words)[: text + size - entry]
        data[entry : entry + len(contents)] = contents
        changes.append(f"{entry:#x}: " + " ".join(f"{word:08x}" for word in words))
    return Mutant(bytes(data), original.name, tuple(changes))


@st.composite
def primed_programs(draw: st.DrawFn) -> Mutant:
    """An object whose first kernel fills its registers with addresses, good and bad, and goes on at random."""
    roomy = [
        o for o in originals() if o.sections[".text"][1] > PRIMED_BYTES and "v2" not in o.name
    ]  # v2: headers in text
    original = draw(st.sampled_from(roomy))
    choose = random.Random(draw(st.integers(0, 1 << 32)))
    words: list[int] = []
    for k in range(250):
        words += [V_MOV_LITERAL | k << 17, choose.choice(HIGH_WORDS if k % 2 else LOW_WORDS)]
    for k in range(96):
        words += [S_MOV_LITERAL | k << 16, choose.choice(HIGH_WORDS if k % 2 else LOW_WORDS)]
    body: list[int] = []
    for _ in range(draw(st.integers(1, 12))):
        body += _executable(choose, memory=True)
    text, size = original.sections[".text"]
    entry = min(original.entries)
    contents = b"".join(word.to_bytes(4, "little") for word in [*words, *body, S_ENDPGM])
    assert entry + len(contents) <= text + size, original.name
    data = bytearray(original.data)
    data[entry : entry + len(contents)] = contents
    return Mutant(bytes(data), original.name, (" ".join(f"{word:08x}" for word in words + body),))


class Worker:
    """The process that tries objects; started again when it died."""

    def __init__(self, checked: bool) -> None:
        self.checked = checked
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> subprocess.Popen[bytes]:
        environment = dict(os.environ)
        environment.pop("NUMBA_DISABLE_JIT", None)
        if self.checked:
            environment["NUMBA_DISABLE_JIT"] = "1"
        command = [sys.executable, "-m", "tests.fuzz.worker", *(["--checked"] if self.checked else [])]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._process = process
        assert self._line(process, 600) == "ready"  # compiles, the first time
        return process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> str:
        assert process.stdout is not None and process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                self.close()
                return f"hangs: no answer in {seconds} s"
        line = process.stdout.readline()
        if line.endswith(b"\n"):
            return line.decode().rstrip("\n")
        self.close()
        return f"crashed with exit code {process.returncode}: {process.stderr.read().decode()[-2000:]}"

    def attempt(self, data: bytes) -> str:
        """The worker's answer, or how it ended."""
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(len(data).to_bytes(4, "little") + data)
        process.stdin.flush()
        return self._line(process, ANSWER_S)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
