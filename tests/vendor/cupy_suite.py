"""CuPy's own tests by one command: a part of them, drawn by a seed, with what fails and whose fault it is.

    python -m tests.vendor.cupy_suite TESTS FOLDER [--seed S] [--files N] [--of N] [--seconds S]

runs them on the simulated R9 Nano without timing and renews the table of results/vendor-tests.md. TESTS: the folder
`tests` of CuPy's repository at v13.3.0; FOLDER: what `gpusim packages cupy FOLDER` has made, with pytest and SciPy
installed in its environment. `--files N`: one of N test files is drawn; `--of N`: of their tests one of N; `--seconds`:
processor time, after which the run is ended: what it has run by then counts.
"""

import json
import os
import random
import resource
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from docs._site.pages import renewed
from tests.vendor.programs import REPOSITORY, Limit, gpusim_command, run_within
from tests.vendor.suites import PAGE, WALL, Known, Row, page_table

RESULTS = PAGE.parents[2] / "results/cupy-tests.json"
LIBRARY = "CuPy 13.3.0"
ALL = ("cupy_tests", "cupyx_tests")
_WHOLE = (0, 1, 5)  # exit codes of pytest that has run all tests: passed, some failed, there was none
_CUB = "tests that count calls of CUB, which CuPy's build for ROCm 5 does not make"
_HEADER = "includes CUDA's `cooperative_groups.h`, which ROCm has by another name"
_MEMORY = "asks for 4 GiB, all of the card's memory"
KNOWN = (
    Known("CuPy", r".*Cub.*", "library", _CUB),
    Known("CuPy", r".*test_channelize_poly.*", "library", _HEADER),
    Known("CuPy", r".*test_asnumpy_blocking.*", "library", _MEMORY),
)


def draw_files(tests: Path, seed: int, of: int) -> list[str]:
    """Return one of `of` test files, by their paths from the folder."""
    files = sorted(str(path.relative_to(tests)) for name in ALL for path in (tests / name).rglob("test_*.py"))
    return random.Random(seed).sample(files, round(len(files) / of))


def read_outcomes(lines: list[str]) -> dict[str, str]:
    """Return the outcome of each test, 'begun' for one within which its process ended."""
    outcomes: dict[str, str] = {}
    for line in lines:
        name, outcome, _ = json.loads(line)
        if outcomes.get(name) != "failed":  # an error after the test does not undo its failure
            outcomes[name] = outcome
    return outcomes


def row_of(outcomes: dict[str, str], row: Row) -> Row:
    """Add the outcomes to a row; a test that is expected to fail and does counts as skipped."""
    failed: defaultdict[str, list[str]] = defaultdict(list)
    for name, outcome in outcomes.items():
        row.passed += outcome == "passed"
        row.skipped += outcome in ("skipped", "xfailed")
        if outcome == "failed" or (outcome == "begun" and not row.cut):
            known = next((one for one in KNOWN if one.matches(LIBRARY, name)), None)
            failed[known.whose if known else "unexplained"].append(name.partition("::")[2] or name)
            if known and known.why not in row.why:
                row.why.append(known.why)
    row.failed = dict(failed)
    return row


def run(tests: Path, folder: Path, seed: int, files: int, of: int, seconds: float) -> Row:
    """Run the drawn tests, in another process after one that a kernel's fault has ended."""
    row, plugin, begun = Row(), Path(__file__).parent, resource.getrusage(resource.RUSAGE_CHILDREN)
    with TemporaryDirectory() as scratch:
        noted, result = Path(scratch) / "outcomes", Path(scratch) / "result.json"
        noted.touch()
        draw = {"seed": seed, "of": of, "outcomes": str(noted)}
        environment = {**os.environ, "CUPY_DRAW": json.dumps(draw), "PYTHONPATH": f"{plugin}:{REPOSITORY}"}
        options = ("--timing", "off", "--host-pointers", "--quiet", "--json", str(result), "--root", str(folder))
        python = (str(folder / "env/bin/python"), "-m", "pytest", "-q", "-p", "cupy_plugin", "-m", "not slow")
        paths = [str(tests / name) for name in draw_files(tests, seed, files)]
        command = [*gpusim_command(), *options, "--", *python, f"--rootdir={tests.parent}", *paths]
        while True:
            before = len(noted.read_text().splitlines())
            code, _, cut = run_within(command, environment, Limit(seconds - row.cpu_s, WALL * seconds))
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            row.cpu_s = now.ru_utime + now.ru_stime - begun.ru_utime - begun.ru_stime
            row.programs += 1
            row.launches += json.loads(result.read_text())["total"]["launches"] if result.exists() else 0
            row.cut = [cut] if cut else []
            if cut or code in _WHOLE or len(noted.read_text().splitlines()) == before:
                return row_of(read_outcomes(noted.read_text().splitlines()), row)


def main() -> None:
    """Run what the arguments ask for, and renew the page."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("tests", type=Path, metavar="TESTS")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=56)
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--of", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1200.0)
    asked = parser.parse_args()
    row = run(asked.tests.absolute(), asked.folder.absolute(), asked.seed, asked.files, asked.of, asked.seconds)
    write(row, asked.seed, asked.files, asked.of)


def write(row: Row, seed: int, files: int, of: int) -> None:
    """Store the row, and write its table into the page."""
    RESULTS.write_text(json.dumps({"seed": seed, "files": files, "of": of, **vars(row)}, indent=1) + "\n")
    title = f"{LIBRARY}, seed {seed}, 1 of {files} files, 1 of {of} tests"
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(renewed(text, {"cupy": lambda: page_table({title: row})}), encoding="utf-8")


if __name__ == "__main__":
    main()
