"""Random valid kernels of gfx803, each executed three ways: with timing, without, and without in plain Python.

With timing they are executed on one thread and on two, which has to give the same counts, too.

A kernel has loops, branches, divergent blocks, LDS with barriers, loads and stores, atomics and a private array, and in
between random arithmetic of every form. What its wavefronts do does not hang on their order: they store to places of
their own, read what others wrote after a barrier, and change shared words by sums alone. At its end a kernel stores its
registers, so that these are compared with the rest of memory.
"""

import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
GROUPS, ITEMS = 3, 128
WORDS = 64  # of results a work-item: registers, then what it stores on its way
SHARED = 64  # words that all change
VECTORS, SCALARS = 24, 12  # registers of random arithmetic: v0 to v23, s40 to s51
PRIVATE_BYTES = 256
INSTRUCTIONS = 1 << 16
# registers beside them: s[0:3] private resource, s[4:5] arguments, s8 scratch, s[20:21] input, s[22:23] output,
# s[24:25] shared words, s[30:31] saved lanes, s36, s37 counters; v40 item in the group, v[42:43] the item's results,
# v[44:49] addresses and values for the moment
TEXT = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx803"
.amdhsa_code_object_version 5
.text
.globl fuzzed
.p2align 8
.type fuzzed,@function
fuzzed:
{text}
.Lend:
.size fuzzed, .Lend-fuzzed
.rodata
.p2align 6
.amdhsa_kernel fuzzed
  .amdhsa_next_free_vgpr 64
  .amdhsa_next_free_sgpr 64
  .amdhsa_user_sgpr_private_segment_buffer 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_private_segment_wavefront_offset 1
  .amdhsa_private_segment_fixed_size {private}
  .amdhsa_group_segment_fixed_size 2048
  .amdhsa_kernarg_size 24
.end_amdhsa_kernel
"""
PROLOGUE = f"""
s_mov_b32 s8, s7
s_mov_b32 s9, s6
s_load_dwordx4 s[20:23], s[4:5], 0x0
s_load_dwordx2 s[24:25], s[4:5], 0x10
v_mov_b32 v40, v0
s_mul_i32 s10, s9, {ITEMS}
v_add_u32 v41, vcc, s10, v40
v_lshlrev_b32 v44, 8, v41
s_waitcnt lgkmcnt(0)
v_mov_b32 v43, s23
v_add_u32 v42, vcc, s22, v44
v_addc_u32 v43, vcc, 0, v43, vcc
"""


@cache
def _arithmetic() -> tuple[Any, ...]:
    """Opcodes of arithmetic that names its registers in its fields alone."""
    from tests.support.instruction_words import opcodes

    left_out = ("movrel", "setreg", "getreg", "gpr_idx", "pc_", "setvskip", "cbranch", "bitset", "rfe", "s_mov_fed")
    left_out += ("interp", "call", "clrexcp", "saveexec", "v_readlane", "v_readfirstlane")
    left_out += ("_fma",)  # of two NaNs, which one it passes on is the host's affair, and Python's another one
    chosen = [o for o in opcodes() if o.encoding in ("sop1", "sop2", "sopc", "vop1", "vop2", "vopc", "vop3")]
    return tuple(o for o in chosen if not any(part in o.mnemonic for part in left_out))


def _register(choose: random.Random, name: str, opcode: Any, width: int) -> int:
    """A field of a random instruction: one of the registers of arithmetic, or a constant."""
    if name in ("vdst", "vsrc1", "vdata"):
        return choose.randrange(VECTORS)
    if name == "sdst" and opcode.encoding != "vop3":
        return choose.randrange(40, 40 + SCALARS - 4, 2)
    if name == "sdst":
        return choose.randrange(40, 48, 2)
    if name.startswith("ssrc"):
        return choose.choice((choose.randrange(40, 48, 2), choose.randrange(128, 209), 240, 242, 247))
    if name == "src0" or (name in ("src1", "src2") and opcode.encoding == "vop3"):
        return choose.choice((256 + choose.randrange(VECTORS), 256 + choose.randrange(VECTORS), 44, 130, 193, 242))
    return choose.getrandbits(width) if name in ("abs", "neg") else 0


def arithmetic(choose: random.Random) -> str:
    """A random instruction that no loader refuses, as words in the assembler's notation."""
    from docs._site.isa_coverage import refusal
    from isa.encoding.decoder import DecodeError, decode
    from isa.opcodes.formats import FORMATS
    from tests.support.instruction_words import ENCODING_BITS

    while True:
        opcode = choose.choice(_arithmetic())
        names = [operand.partition(":")[0] for operand in opcode.operands.split()]
        layout = "vop3b" if opcode.encoding == "vop3" and {"sdst", "vdst"} <= set(names) else opcode.encoding
        bits = ENCODING_BITS[opcode.encoding]
        for name, low, width in FORMATS[layout].fields:
            value = opcode.number if name == "op" else _register(choose, name, opcode, width)
            bits |= (value & (1 << width) - 1) << low
        if opcode.encoding == "vop3" and "vdst" not in names:
            bits = bits & ~0xFF | 40 + 2 * choose.randrange(
                4
            )  # a comparison's lanes, in the vector destination's place
        words = [bits >> 32 * i & 0xFFFFFFFF for i in range(FORMATS[layout].words)]
        try:
            decoded = decode(b"".join(word.to_bytes(4, "little") for word in words))
        except DecodeError:
            continue
        if len(decoded) == 1 and refusal(decoded[0]) is None:
            return ".long " + ", ".join(f"{word:#x}" for word in words)


class _Writer:
    """Writes the text of one kernel."""

    def __init__(self, choose: random.Random) -> None:
        self.choose, self.lines, self.labels, self.stored = choose, [], 0, VECTORS + 8

    def add(self, text: str) -> None:
        self.lines += text.strip().splitlines()

    def label(self) -> str:
        self.labels += 1
        return f".L{self.labels}"

    def arithmetic(self) -> None:
        for _ in range(self.choose.randint(1, 6)):
            self.add(arithmetic(self.choose))

    def vector(self) -> int:
        return self.choose.randrange(VECTORS)

    def load(self) -> None:
        size, suffix = self.choose.choice(((4, "dword"), (4, "dword"), (8, "dwordx2"), (16, "dwordx4"), (1, "ubyte")))
        v = self.choose.randrange(VECTORS - 4)
        name = f"v[{v}:{v + size // 4 - 1}]" if size > 4 else f"v{v}"
        self.add(f"""
            v_and_b32 v44, {0xFF0 if size > 4 else 0xFFC}, v{self.vector()}
            v_mov_b32 v45, s21
            v_add_u32 v44, vcc, s20, v44
            v_addc_u32 v45, vcc, 0, v45, vcc
            flat_load_{suffix} {name}, v[44:45]
            s_waitcnt vmcnt(0) lgkmcnt(0)""")

    def store(self) -> None:
        if self.stored < WORDS:
            self.results(f"v{self.vector()}", self.stored)
            self.stored += 1

    def results(self, value: str, word: int) -> None:
        self.add(f"""
            v_add_u32 v44, vcc, {4 * word}, v42
            v_addc_u32 v45, vcc, 0, v43, vcc
            flat_store_dword v[44:45], {value}""")

    def atomic(self) -> None:
        """Sums alone: a word's value does not hang on the order."""
        self.add(f"""
            v_and_b32 v44, {4 * (SHARED - 1)}, v{self.vector()}
            v_mov_b32 v45, s25
            v_add_u32 v44, vcc, s24, v44
            v_addc_u32 v45, vcc, 0, v45, vcc
            flat_atomic_add v[44:45], v{self.vector()}""")

    def private(self) -> None:
        self.add(f"""
            v_and_b32 v44, {PRIVATE_BYTES - 4}, v{self.vector()}
            buffer_store_dword v{self.vector()}, v44, s[0:3], s8 offen
            v_and_b32 v44, {PRIVATE_BYTES - 4}, v{self.vector()}
            s_waitcnt vmcnt(0)
            buffer_load_{self.choose.choice(("dword", "ubyte", "sshort"))} v{self.vector()}, v44, s[0:3], s8 offen
            s_waitcnt vmcnt(0)""")

    def shared(self) -> None:
        """Through LDS: all lanes write, and after a barrier read another's; sums into its upper half."""
        self.add(f"""
            s_mov_b64 exec, -1
            s_mov_b32 m0, -1
            s_barrier
            v_lshlrev_b32 v44, 2, v40
            ds_write_b32 v44, v{self.vector()}
            v_and_b32 v46, 0xFC, v{self.vector()}
            ds_add_u32 v46, v{self.vector()} offset:1024
            s_waitcnt lgkmcnt(0)
            s_barrier
            v_xor_b32 v44, {4 * self.choose.randrange(1, ITEMS)}, v44
            ds_read_b32 v{self.vector()}, v44
            ds_read_b32 v{self.vector()}, v46 offset:1024
            s_waitcnt lgkmcnt(0)""")

    def piece(self, depth: int) -> None:
        kind = self.choose.randrange(10 if depth < 2 else 6)
        (
            *(self.arithmetic, self.arithmetic, self.load, self.store, self.atomic, self.private),
            *(lambda: self.loop(depth), lambda: self.branch(depth), lambda: self.divergent(depth), self.shared),
        )[kind]()

    def loop(self, depth: int) -> None:
        start, counter = self.label(), f"s{36 + depth}"
        self.add(f"s_mov_b32 {counter}, {self.choose.randint(2, 5)}\n{start}:")
        for _ in range(self.choose.randint(1, 4)):
            (self.arithmetic, self.load, self.atomic, self.private, self.shared)[self.choose.randrange(5)]()
        self.add(f"s_sub_u32 {counter}, {counter}, 1\ns_cmp_lg_u32 {counter}, 0\ns_cbranch_scc1 {start}")

    def branch(self, depth: int) -> None:
        """By a scalar register: no barrier within, as wavefronts may differ."""
        end = self.label()
        self.add(
            f"s_cmp_lt_u32 s{40 + 2 * self.choose.randrange(4)}, s9\ns_cbranch_scc{self.choose.randrange(2)} {end}"
        )
        for _ in range(self.choose.randint(1, 3)):
            self.piece(2)
        self.add(f"{end}:")

    def divergent(self, depth: int) -> None:
        end = self.label()
        self.add(f"""
            v_cmp_lt_u32 vcc, v{self.vector()}, v{self.vector()}
            s_and_saveexec_b64 s[30:31], vcc
            s_cbranch_execz {end}""")
        for _ in range(self.choose.randint(1, 3)):
            self.piece(2)
        self.add(f"{end}:\ns_mov_b64 exec, s[30:31]")


def text(seed: int) -> str:
    """The kernel of a seed, in assembly."""
    writer = _Writer(random.Random(f"kernel {seed}"))
    writer.add(PROLOGUE)
    for v in range(VECTORS):
        writer.add(f"v_mul_u32_u24 v{v}, {2 * v + 3}, v41\nv_xor_b32 v{v}, {writer.choose.getrandbits(32)}, v{v}")
    for s in range(SCALARS):
        writer.add(f"s_mov_b32 s{40 + s}, {writer.choose.getrandbits(32) if s % 3 else s}")
    for _ in range(writer.choose.randint(4, 14)):
        writer.piece(0)
    writer.add("s_mov_b64 exec, -1")
    for v in range(VECTORS):
        writer.results(f"v{v}", v)
    for s in range(8):
        writer.add(f"v_mov_b32 v47, s{40 + s}")
        writer.results("v47", VECTORS + s)
    writer.add("s_endpgm")
    return TEXT.format(text="\n".join(writer.lines), private=PRIVATE_BYTES)


def assembled(seed: int, target: Path) -> bytes:
    """The code object of a seed's kernel, built at `target`; needs clang and lld."""
    from workloads.toolchain.build import build

    source = target.with_suffix(".s")
    source.write_text(text(seed))
    build(source, target)
    return target.read_bytes()


def executed(data: bytes, seed: int, threads: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Execute a code object's kernel; return all that it can write to, and with timing the counts of the machine.

    threads: that run the launch with timing; 0: without.
    """
    from isa.device_memory import DeviceMemory
    from isa.execution.emulator import run_functional
    from isa.launch import Launch
    from isa.object.code_object import load_code_object

    kernel = load_code_object(data).kernels["fuzzed"]
    memory = DeviceMemory(1 << 26)
    rng = np.random.default_rng(seed)
    given = memory.upload(rng.integers(0, 1 << 32, 1024, dtype=np.uint32), "input", writable=False)
    results = memory.upload(np.zeros(GROUPS * ITEMS * WORDS, np.uint32), "results")
    shared = memory.upload(np.zeros(SHARED, np.uint32), "shared")
    block = b"".join(each.address.to_bytes(8, "little") for each in (given, results, shared))
    launch = Launch(kernel, memory, block, (GROUPS * ITEMS, 1, 1), (ITEMS, 1, 1))
    counts: dict[str, Any] = {}
    if threads:
        from gpusim.model.core.simulator import simulate
        from tests.support.machines import tight

        facts = simulate(launch, tight(), checked=True, max_instructions=INSTRUCTIONS, threads=threads)
        counts = {name: dict(section) for name, section in facts.sections.items() if name != "simulator"}
    else:
        run_functional(launch, INSTRUCTIONS)
    return np.concatenate([memory.view(each, np.uint32) for each in (results, shared)]), counts


def in_plain_python(objects: list[tuple[Path, int]]) -> list[np.ndarray]:
    """The same of several code objects, without timing, by a process that compiles nothing."""
    words = [f"{path}:{seed}" for path, seed in objects]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.kernels", *words], env=environment, capture_output=True, check=False
    )
    if done.returncode:
        raise AssertionError(done.stderr.decode())
    return list(np.frombuffer(done.stdout, np.uint32).reshape(len(objects), -1))


def difference(one: np.ndarray, other: np.ndarray) -> str:
    """Where two memories differ first, in words; empty if they do not."""
    at = np.flatnonzero(one != other)
    if not len(at):
        return ""
    first = int(at[0])
    item, word = divmod(first, WORDS)
    place = f"shared word {first - GROUPS * ITEMS * WORDS}" if item >= GROUPS * ITEMS else f"item {item}, word {word}"
    return f"{len(at)} words, first {place}: {one[first]:#x} and {other[first]:#x}"


def compare(data: bytes, seed: int, plain: np.ndarray) -> None:
    """Raise AssertionError if a kernel does not the same in all three ways."""
    untimed, _ = executed(data, seed, 0)
    (alone, counts), (both, others) = executed(data, seed, 1), executed(data, seed, 2)
    assert counts == others, f"kernel {seed}: on two threads with timing: {counts} and {others}"
    found = {"with timing": alone, "on two threads with timing": both, "in plain Python": plain}
    for way, memory in found.items():
        assert not (what := difference(untimed, memory)), f"kernel {seed}, {way}: {what}"


if __name__ == "__main__":
    for word in sys.argv[1:]:
        path, _, number = word.rpartition(":")
        sys.stdout.buffer.write(executed(Path(path).read_bytes(), int(number), 0)[0].tobytes())
