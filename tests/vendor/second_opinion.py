"""A second opinion on recorded launches: the second statement of GCN3's instructions executes them, and both results
are compared, word by word.

    gpusim hip --record DIR --timing off -- PROGRAM
    python -m tests.vendor.second_opinion DIR [--most N]

prints a line for each launch:

- equal: both leave the same memory, whichever of a workgroup's wavefronts goes first
- order: both leave the same memory, and other memory if the last wavefront goes first: the kernel has a race
- differs: the first word that differs: one of the two is wrong
- none: an instruction that the second statement does not know, or more than N of them

Without DIR the tests of CASES are run, and their launches' opinions go into docs/results/vendor-tests.md
(GPUSIM_VENDOR_ROOT: see tests.vendor.packages).
"""

import math
import re
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from docs._site.pages import renewed, table
from isa.object.names import short
from tests.support.oracle_isa.launch import Executed, Request
from tests.support.oracle_isa.state import LANES, Memory, OutsideError
from tests.support.oracle_isa.text import NotStatedError
from tests.vendor.programs import Shard, run_shard

MOST = 2_000_000
NAME = 60  # characters of a kernel's name in the table
PAGE = Path(__file__).resolve().parents[2] / "docs/results/vendor-tests.md"
_SOLVER = Shard("librocsolver0-tests", "rocsolver-test")
CASES = {
    **{name: replace(_SOLVER, filter=f"checkin_lapack/{name}") for name in ("SYEVJ.__float/22", "STEBZ.__float/46")},
    "TestCopyIfNonTrivial": Shard("librocthrust-tests", "test_thrust_copy", arguments=("TestCopyIfNonTrivial",)),
}


@dataclass(frozen=True)
class Opinion:
    """What became of a launch: the verdict with the reason, and how many instructions were executed."""

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
    request = Request(
        (folder / document["code_object"]).resolve(),
        document["kernel"],
        held["arguments"].tobytes(),
        tuple(document["global_size"]),
        tuple(document["local_size"]),
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


def first_difference(request: Request, mine: Memory, theirs: Mapping[int, np.ndarray], whose: str = "gpusim") -> str:
    """The first word of memory that differs; empty if none does. whose: memory the other one is."""
    for address, before in sorted(request.memory.items()):
        here, there = mine.pieces[address], theirs.get(address, before)
        different = np.flatnonzero(here != there)
        if len(different):
            at = int(different[0]) & ~3
            words = [int.from_bytes(one[at : at + 4].tobytes(), "little") for one in (there, here)]
            count = len(np.unique(different // 4))
            return f"{count:,} words, first at {address + at:#x}: {whose} {words[0]:#x}, second {words[1]:#x}"
    return ""


def opinion(folder: Path, most: int = MOST) -> Opinion:
    """Execute a recorded launch by the second statement, and compare."""
    request, after = read(folder)
    executed = 0
    try:
        first = Executed(request, most)
        why = first_difference(request, first.run(), after)
        executed = first.executed
        verdict = "differs" if why else "equal"
        if not why and math.prod(request.local_size) > LANES:
            other = Executed(request, most, last_first=True)
            why = first_difference(request, other.run(), first.memory.pieces, "first")
            executed += other.executed
            verdict = "order" if why else "equal"
    except (NotStatedError, OutsideError) as error:
        verdict, why = "none", str(error)
    return Opinion(folder.name, request.kernel, verdict, why, executed)


def launches(folder: Path) -> list[Path]:
    """The folders of the launches that have ended, in order."""
    return sorted(one.parent for one in folder.glob("*/after.npz") if re.match(r"\d+-", one.parent.name))


def case_table() -> str:
    """For results/vendor-tests.md: the kernels of tests that fail, with both statements' opinions on their launches."""
    rows = []
    for test, shard in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "launches"
            run_shard(replace(shard, options=("--record", str(record), "--record-launches", "1000")))
            found = [opinion(one, MOST) for one in launches(record)]
        for kernel in dict.fromkeys(one.kernel for one in found):
            mine = [one for one in found if one.kernel == kernel]
            verdicts = Counter(one.verdict for one in mine)
            counts = [str(verdicts[verdict]) for verdict in ("equal", "order", "differs", "none")]
            executed = f"{sum(one.instructions for one in mine):,}".replace(",", " ")
            name = short(kernel)
            name = name if len(name) <= NAME else f"{name[: NAME - 1]}…"
            rows.append((f"`{test}`", f"`{name}`", str(len(mine)), executed, *counts))
    head = ("test", "kernel", "launches", "instructions", "equal", "order", "differs", "no opinion")
    return table(head, rows)


def main() -> None:
    """Print an opinion on each launch of a folder, or renew the page's table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", help="without: the cases of docs/results/vendor-tests.md, renewed"
    )
    parser.add_argument("--most", type=int, default=MOST)
    asked = parser.parse_args()
    if asked.folder is None:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(renewed(text, {"opinions": case_table}), encoding="utf-8")
        return
    wrong = 0
    for folder in launches(asked.folder):
        one = opinion(folder, asked.most)
        wrong += one.verdict == "differs"
        print(f"{one.launch}: {one.verdict} ({one.instructions:,} instructions) {one.why}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
