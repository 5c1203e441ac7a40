"""A second opinion on recorded launches: the second statement of GCN3's instructions executes them, and both results
are compared, word by word.

    gpusim hip --record DIR --timing off -- PROGRAM
    python -m tests.vendor.second_opinion DIR [--most N] [--trace]

For each launch: equal, or the first word of memory that differs, and with --trace the first instruction of a wavefront
that leaves another register behind. A launch with more than N instructions, or with one that the second statement does
not know, is said to have no opinion.
"""

import re
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from tests.support.oracle_isa.launch import Executed, Request
from tests.support.oracle_isa.state import Memory, OutsideError
from tests.support.oracle_isa.text import NotStatedError

MOST = 2_000_000


@dataclass(frozen=True)
class Opinion:
    """What became of a launch: "equal", "differs", "none" (no opinion), with the reason; instructions executed."""

    launch: str
    kernel: str
    verdict: str
    why: str
    instructions: int


def read(folder: Path) -> tuple[Request, dict[int, np.ndarray]]:
    """A recorded launch, and what memory held after it in gpusim: by address, what has changed."""
    document = yaml.safe_load((folder / "launch.yaml").read_text())
    before, after = (_pieces(folder / f"{when}.npz") for when in ("before", "after"))
    memory, held = before
    x, y, z = (tuple(document[key]) for key in ("global_size", "local_size")), None, None
    request = Request(
        (folder / document["code_object"]).resolve(),
        document["kernel"],
        held["arguments"].tobytes(),
        *x,
        document["dynamic_lds_bytes"],
        memory,
        int(held["code"]),
        document["gpu"]["architecture"],
    )
    return request, after[0]


def _pieces(path: Path) -> tuple[dict[int, np.ndarray], dict[str, np.ndarray]]:
    with np.load(path, allow_pickle=False) as arrays:
        held = {name: arrays[name] for name in arrays.files}
    pieces = {int(name.split()[0], 16): held[name] for name in held if name.startswith("0x")}
    return pieces, held


def first_difference(request: Request, mine: Memory, theirs: dict[int, np.ndarray]) -> str:
    """The first word of memory that differs; empty if none does."""
    for address, before in sorted(request.memory.items()):
        here, there = mine.pieces[address], theirs.get(address, before)
        different = np.flatnonzero(here != there)
        if len(different):
            at = int(different[0]) & ~3
            words = [int.from_bytes(one[at : at + 4].tobytes(), "little") for one in (there, here)]
            count = len(np.unique(different // 4))
            return f"{count:,} words, first at {address + at:#x}: gpusim {words[0]:#x}, second {words[1]:#x}"
    return ""


def opinion(folder: Path, most: int = MOST) -> Opinion:
    """Execute a recorded launch by the second statement, and compare."""
    request, after = read(folder)
    verdict, why, executed = "equal", "", None
    try:
        executed = Executed(request, most)
        why = first_difference(request, executed.run(), after)
        verdict = "differs" if why else "equal"
    except (NotStatedError, OutsideError) as error:
        verdict, why = "none", str(error)
    return Opinion(folder.name, request.kernel, verdict, why, executed.executed if executed else 0)


def launches(folder: Path) -> list[Path]:
    """The folders of the launches that have ended, in order."""
    return sorted(one.parent for one in folder.glob("*/after.npz") if re.match(r"\d+-", one.parent.name))


def main() -> None:
    """Print an opinion on each launch."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=MOST)
    asked = parser.parse_args()
    wrong = 0
    for folder in launches(asked.folder):
        one = opinion(folder, asked.most)
        wrong += one.verdict == "differs"
        print(f"{one.launch}: {one.verdict} ({one.instructions:,} instructions) {one.why}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
