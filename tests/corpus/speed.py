"""Functional speed of the corpus: python -m tests.corpus.speed [kernel ...]. Base variant, the cases' speed sizes."""

import math
import sys

from tests.corpus.build import BASE
from tests.corpus.execute import execute, kernel_of
from tests.corpus.table import CASES

MEASURED_S = 0.3  # CPU time a kernel is repeated for, at least


def main() -> None:
    """Prints wavefront instructions per CPU second of each kernel and their geometric mean."""
    wanted = set(sys.argv[1:])
    speeds = []
    for case in CASES:
        if wanted and case.kernel not in wanted:
            continue
        first = execute(kernel_of(BASE, case), case, case.speed)
        runs = [first]
        while sum(run.seconds for run in runs) < MEASURED_S and len(runs) < 20:
            runs.append(execute(kernel_of(BASE, case), case, case.speed))
        speed = max(run.instructions_per_s for run in runs)
        speeds.append(speed)
        print(
            f"{case.kernel:22} {first.wavefront_instructions:>10} instructions {speed / 1e6:8.2f} million/s", flush=True
        )
    print(f"{'geometric mean':22} {'':>23} {math.exp(sum(map(math.log, speeds)) / len(speeds)) / 1e6:8.2f} million/s")


if __name__ == "__main__":
    main()
