"""`python -m tests.fuzz`: a hundred thousand bad inputs; no traceback, no crash, no hang, no other exit code.

Inputs follow from the seed and their numbers, so that a finding can be tried again: `--only objects --first 4711
--count 1`. They are tried in the process, which is forked for every batch: a crash or a hang costs the batch's rest.
Random kernels, executed three ways, are tried when asked for alone: `--only kernels --count 200`; needs clang and lld.
"""

import argparse
import sys
from pathlib import Path

from tests.fuzz.batches import Report, run
from tests.fuzz.inputs import kinds


def main() -> int:
    """Run; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="inputs (100000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each kind")
    parser.add_argument("--seed", type=int, default=1, help="of all inputs")
    parser.add_argument("--only", choices=sorted(kinds()), help="inputs of this kind alone")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder that gets the inputs of findings")
    asked = parser.parse_args()
    chosen = [kind for kind in kinds().values() if asked.only == kind.name or (asked.only is None and kind.share)]
    whole = sum(kind.share for kind in chosen)
    total = Report()
    for kind in chosen:
        count = -(-asked.count * kind.share // whole) if whole else asked.count
        part = run(kind, asked.seed, asked.first, count, asked.processes, sys.stderr)
        if not part.outcomes:
            print(f"{kind.name}: left out, there is nothing to try them on", file=sys.stderr)
        total.add(part)
        print(total.text(), file=sys.stderr, flush=True)
    print(total.text())
    if asked.keep is not None:
        total.keep(asked.keep)
    return 1 if total.findings else 0


if __name__ == "__main__":
    sys.exit(main())
