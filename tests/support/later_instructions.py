"""Writes isa/opcodes/later.txt: which instructions later GPUs have where gfx906 has none, as LLVM says.

python -m tests.support.later_instructions

LLVM 19's disassembler is offered random words of every number that is free on gfx906. What most of the words that it
accepts are called is a row. CDNA's encodings are gfx906's; of RDNA's, only those whose fields lie where GCN's lie, and
those whose first words are free.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from isa.opcodes.formats import Format, layout
from isa.opcodes.later import CDNA, FREE_ENCODINGS, LAST, LATER_FILE, RDNA
from tests.support.instruction_words import ENCODING_BITS
from tests.support.llvm_oracle import find_llvm_mc, oracle_lines

TRIES = 24
_WIDTH = 118
_FORMATS = {
    "vop3p10": layout(2, "op:16:7 op_sel:11:3 vdst:0:8 op_sel_hi:59:2 src2:50:9 src1:41:9 src0:32:9"),
    "smem10": layout(2, "op:18:8 sdata:6:7 sbase:0:6 offset:32:21 soffset:57:7"),
    "vopd": layout(2, "op:22:4 opy:17:5 vsrc1:9:8 src0:0:9 vdst:56:8 vdsty:49:7 vsrc1y:41:8 src0y:32:9"),
}
_RDNA_ENCODINGS = ("sopp", "sopk")
_ASKED = {"vopd": ("gfx1100",), **dict.fromkeys(("vop3p10", "smem10"), tuple(RDNA))}
_VECTORS = ("vdst", "vsrc1", "vsrc1y", "addr", "data", "data0", "data1", "vdata", "vaddr")


def free_numbers() -> Iterator[tuple[str, int, int, Format]]:
    """(encoding, number, first bits, format) of every number to which gfx906 gives no instruction."""
    for encoding, bits in ENCODING_BITS.items():
        form = LAST.formats[encoding]
        _, low, width = form.fields[0]
        for number in range(1 << width):
            if number not in LAST.tables[encoding] and LAST.encoding_of(bits | number << low) == encoding:
                yield encoding, number, bits, form
    for free in FREE_ENCODINGS:
        for number in range(1 << free.width):
            yield free.name, number, free.bits, _FORMATS[free.name]


def gpus_asked(encoding: str) -> tuple[str, ...]:
    """The later GPUs whose instructions of an encoding are looked for."""
    return _ASKED.get(encoding) or (*CDNA, *(RDNA if encoding in _RDNA_ENCODINGS else ()))


def words_of(draw: random.Random, number: int, bits: int, form: Format) -> list[int]:
    """Words of an instruction of a number, with registers that most instructions would take."""
    _, low, _ = form.fields[0]
    bits |= number << low
    for name, at, width in form.fields[1:]:
        bits |= (_field(draw, name) & (1 << width) - 1) << at
    return [bits >> 32 * i & 0xFFFFFFFF for i in range(form.words)]


def _field(draw: random.Random, name: str) -> int:
    register = 4 * draw.randrange(1, 16)
    if name in _VECTORS:
        return draw.choice((register, 0)) if name in ("vdst", "data1") else register
    if name in ("src0", "src0y"):
        return 256 + register
    if name in ("src1", "src2"):
        return draw.choice((256 + register, 256 + register, 0) + ((128,) if name == "src2" else ()))
    if name in ("ssrc0", "ssrc1", "sdst", "sdata", "soffset"):
        return draw.choice((register, 124)) if name == "soffset" else register
    if name == "saddr":
        return draw.choice((127, 0, register))
    if name in ("sbase", "srsrc"):
        return 2 * draw.randrange(1, 8)
    if name == "simm16":
        return draw.choice((0, 1, 7, 256))
    if name == "opy":
        return draw.choice((0, 3, 4, 8, 16))
    return draw.randrange(4) if name in ("op_sel_hi", "op_sel_hi2", "glc", "imm") else 0


def found(tool: str) -> dict[tuple[str, int], dict[str, str]]:
    """The mnemonic by GPU, by encoding and number."""
    draw = random.Random(1)
    keys, items = [], []
    for encoding, number, bits, form in free_numbers():
        for _ in range(TRIES):
            keys.append((encoding, number))
            items.append(words_of(draw, number, bits, form))
    rows: dict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    for gpu in CDNA | RDNA:
        asked = [(key, words) for key, words in zip(keys, items, strict=True) if gpu in gpus_asked(key[0])]
        names: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
        for (key, _), text in zip(asked, oracle_lines(tool, [words for _, words in asked], gpu), strict=True):
            if text is not None and "Invalid" not in text:
                names[key][re.sub(r"_(e32|e64)$", "", text.split()[0])] += 1
        for key, counted in names.items():
            rows[key][gpu] = counted.most_common(1)[0][0]
    return rows


def same(one: str, other: str) -> bool:
    """Whether two mnemonics name one instruction: gfx942 writes matrix instructions with their number of blocks."""
    plain = [re.sub(r"_\d+b_|_", "", name) if name.startswith("v_mfma") else name for name in (one, other)]
    return plain[0] == plain[1]


def lines(rows: dict[tuple[str, int], dict[str, str]]) -> Iterator[str]:
    """The file's lines: an encoding and GPUs, then numbers and mnemonics that these GPUs have there."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (encoding, number), names in rows.items():
        first = next(iter(names.values()))
        gpus = tuple(gpu for gpu, name in names.items() if same(first, name))
        groups[encoding, gpus].append(f"{number:#04x} {first}")
    for (encoding, gpus), items in groups.items():
        yield f"{encoding}: {' '.join(gpus)}"
        line = "   "
        for item in items:
            if len(line) + len(item) + 2 > _WIDTH:
                yield line
                line = "   "
            line += f" {item},"
        yield line.rstrip(",")


def main() -> None:
    """Writes the file."""
    tool = find_llvm_mc()
    if tool is None:
        raise SystemExit("llvm-mc is not installed")
    LATER_FILE.write_text("\n".join(lines(found(tool))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
