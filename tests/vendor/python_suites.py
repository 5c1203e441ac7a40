"""Tests of Python projects by one command: files drawn by a seed, of each some tests, with what fails and whose fault.

    python -m tests.vendor.python_suites SUITE TESTS FOLDER [--seed S] [--of N] [--tests N] [--each S] [--seconds S]

runs them on a simulated GPU without timing, a process for each file, and renews the table of results/vendor-tests.md.
TESTS: the folder of the project's repository that the suite's files lie in; FOLDER: env/bin/python is the interpreter
with the project and pytest, and what `gpusim packages` has put there is used. `--of N`: one of N files is drawn;
`--tests N`: of each file so many tests; `--each`: processor time for a file, `--seconds`: for all. What ran before is
in FOLDER and counts: a second call goes on with files that were not run. So do rows of the table with the same draw,
unless `--again` is given. `--files NAME...`: only these of the drawn files are run, and replace their rows.
`--fresh`: files are drawn that the suite's first table has not, for a table of their own.
"""

import json
import os
import random
import resource
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docs._site.pages import renewed, table
from tests.vendor.programs import REPOSITORY, Limit, gpusim_command, run_within
from tests.vendor.suites import PAGE, WALL, Known

RESULTS = PAGE.parents[2] / "results/python-tests.json"
_WHOLE = (0, 1, 5)  # exit codes of pytest that has run all tests: passed, some failed, there was none
WHOSE = ("project", "library", "compiler", "gpusim", "unexplained")


@dataclass(frozen=True)
class Suite:
    """Tests of a project."""

    title: str
    """Project and release."""
    folders: tuple[str, ...]
    """Folders with test files, or test files, below the folder of its tests."""
    options: tuple[str, ...] = ()
    """Options of `gpusim hip`."""
    pytest: tuple[str, ...] = ()
    """Options of pytest."""
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables."""


SUITES = {
    "cupy": Suite(
        "CuPy 13.3.0",
        ("cupy_tests", "cupyx_tests"),
        ("--host-pointers",),
        ("-m", "not slow"),
        {"CUPY_TEST_GPU_LIMIT": "1"},
    ),
    "tinygrad": Suite(
        "tinygrad 0.14.0",
        tuple(f"backend/test_{name}.py" for name in ("setitem", "symbolic_ops", "arange")) + ("test_tiny.py",),
        variables={"DEV": "HIP"},
    ),
    "pyopencl": Suite(
        "PyOpenCL 2026.1.4",
        tuple(
            f"test_{name}.py"
            for name in ("wrapper", "clrandom", "arrays_in_structs", "enqueue_copy", "clmath", "array")
        ),
    ),
    "triton": Suite(
        "Triton 3.7.0",
        ("unit/language",),
        ("--gpu", "mi210"),
        # without those that convert each of 2 ** 32 numbers
        ("-p", "tests.vendor.triton_tensors", "-k", "not test_typeconvert_downcast or clamping"),
    ),
    "hip-python": Suite("hip-python 7.2.2", ("test_examples.py",), ("--gpu", "mi210")),
}
_CUB = "tests that count calls of CUB, which CuPy's build for ROCm 5 does not make"
_HEADER = "includes CUDA's `cooperative_groups.h`, which ROCm has by another name"
_JIT = "includes CUDA's Thrust, which CuPy brings, and with it `cuda_runtime_api.h`"
_MEMORY = "asks for 4 GiB, all of the card's memory"
_IMAGE = "asks an image for an attribute that PyOpenCL's class no longer has"
_SIZED = "gives arrays of `extern __shared__` a size, which clang refuses for HIP"
_TOLERANCE = "asks for 0.2 % of values next to 0, which rounding of FP32 sums misses by 4e-6"
_LINE = "asks for a line that no instruction of Triton's code has"
_OBJDUMP = "takes errors about data, which LLVM 14's llvm-objdump prints and LLVM 19's does not, for lines"
_KEPT = (
    "takes PyTorch's product on the processor, which keeps FP16's denormals; MI200's matrix instructions flush them, "
    "and with a product that does too it passes"
)
_LARGE = "makes arrays of 6 GiB in all on a card of 4 GiB"
_RELATIVE = "names a cache by a relative path, which the installed platformdirs does not take"
_ATAN = "asks for an absolute error of 2e-7 where one unit in the last place is 1.2e-7 and OpenCL allows five"
_TORCH = "compares with PyTorch, which is not there"
_WMMA = "takes gfx11's matrix instructions for those of GPUs that its table (`get_amd`) has not, gfx803 and gfx90a too"
KNOWN = (
    Known("Triton", r".*test_line_info_ir_source.*", "compiler", _LINE),
    Known("Triton", r".*test_scaled_dot.*-fp16-.*", "library", _KEPT),
    Known("Triton", r".*test_line_info_env.*", "compiler", _OBJDUMP),
    Known("PyOpenCL", r".*test_zeros_large_array.*", "project", _LARGE),
    Known("PyOpenCL", r".*test_xdg_cache_home.*", "project", _RELATIVE),
    Known("PyOpenCL", r".*test_atan\[.*", "project", _ATAN),
    Known("PyOpenCL", r".*test_get_info.*", "project", _IMAGE),
    Known("tinygrad", r".*test_llama_embedding_opt.*", "project", _TORCH),
    Known("tinygrad", r".*test_hgemm.*", "project", _WMMA),
    Known("CuPy", r".*Cub.*", "project", _CUB),
    Known("CuPy", r".*test_channelize_poly.*", "project", _HEADER),
    Known("CuPy", r".*test_pulse_compression.*", "project", _TOLERANCE),
    Known("CuPy", r".*jit_tests.*", "project", _JIT),
    Known("CuPy", r".*test_symiirorder2.*", "project", _SIZED),
    Known("CuPy", r".*test_asnumpy_blocking.*", "project", _MEMORY),
)


@dataclass
class FileRow:
    """What became of a file's tests."""

    drawn: int = 0
    """Tests that were drawn."""
    tests: int = 0
    """Tests that the file has."""
    passed: int = 0
    skipped: int = 0
    """Tests that were skipped, or failed as the project expects."""
    failed: dict[str, list[str]] = field(default_factory=dict)
    """Tests that failed, by whose fault."""
    why: list[str] = field(default_factory=list)
    """Causes of these."""
    launches: int = 0
    cpu_s: float = 0.0
    """Processor time of the tests, gpusim, and the compiler."""
    cut: str = ""
    """Limit at which the file's process was ended; empty: none."""
    ended: bool = False
    """Whether all drawn tests have an outcome, or the limit ended them."""


def draw_files(tests: Path, suite: Suite, seed: int, of: int, without: Iterable[str] = ()) -> list[str]:
    """Return one of `of` test files of a suite, by their paths from the folder, but none of `without`."""
    found = (path for name in suite.folders for path in ((tests / name).rglob("test_*.py")))
    files = sorted(str(path.relative_to(tests)) for path in found)
    files += [name for name in suite.folders if (tests / name).is_file()]
    return random.Random(seed).sample([name for name in files if name not in set(without)], round(len(files) / of))


def read_row(lines: list[str], title: str) -> FileRow:
    """Return what a file's notes say: those of the plugin for each test, and those of its processes."""
    row, outcomes = FileRow(), dict[str, str]()
    for name, outcome, message in map(json.loads, lines):
        if outcome == "drawn":
            row.drawn, row.tests = (max(pair) for pair in zip((row.drawn, row.tests), message, strict=True))
        elif outcome == "process":
            row.launches, row.cpu_s = row.launches + message["launches"], row.cpu_s + message["cpu_s"]
            row.cut, row.ended = message["cut"], message["ended"]
        elif outcomes.get(name) != "failed":  # an error after the test does not undo its failure
            outcomes[name] = outcome
    failed: defaultdict[str, list[str]] = defaultdict(list)
    for name, outcome in outcomes.items():
        row.passed += outcome == "passed"
        row.skipped += outcome in ("skipped", "xfailed")
        if outcome == "failed" or (outcome == "begun" and row.ended and not row.cut):
            known = next((one for one in KNOWN if one.matches(title, name)), None)
            failed[known.whose if known else "unexplained"].append(name.partition("::")[2] or name)
            if known and known.why not in row.why:
                row.why.append(known.why)
    row.failed = dict(failed)
    return row


def run_file(suite: Suite, file: Path, notes: Path, asked: Namespace) -> None:
    """Run a file's drawn tests, in another process after one that a kernel's fault has ended."""
    notes.parent.mkdir(exist_ok=True)
    notes.touch()
    draw = {"seed": asked.seed, "most": asked.tests, "outcomes": str(notes)}
    environment = {**os.environ, **suite.variables, "TESTS_DRAW": json.dumps(draw)}
    environment["PYTHONPATH"] = f"{Path(__file__).parent}:{REPOSITORY}"
    left = asked.each
    with TemporaryDirectory() as scratch:
        result = Path(scratch) / "result.json"
        options = ["--timing", "off", "--quiet", "--json", str(result), *suite.options]
        options += ["--root", str(asked.folder)] if (asked.folder / "usr").exists() else []
        python = [str(asked.folder / "env/bin/python"), "-m", "pytest", "-q", "-p", "python_plugin", *suite.pytest]
        command = [*gpusim_command(), *options, "--", *python, f"--rootdir={asked.place.parent}", str(file)]
        while True:
            before, begun = len(notes.read_text().splitlines()), resource.getrusage(resource.RUSAGE_CHILDREN)
            code, _, cut = run_within(command, environment, Limit(left, WALL * left))
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = now.ru_utime + now.ru_stime - begun.ru_utime - begun.ru_stime
            left -= cpu_s
            lines = notes.read_text().splitlines()
            begun_any = any(json.loads(line)[1] == "begun" for line in lines[before:])
            ended = bool(cut) or code in _WHOLE or not begun_any
            launches = json.loads(result.read_text())["total"]["launches"] if result.exists() else 0
            process = {"launches": launches, "cpu_s": cpu_s, "cut": cut, "ended": ended, "code": code}
            with notes.open("a") as stream:
                stream.write(json.dumps(["", "process", process]) + "\n")
            if ended or left <= 0:
                return


def suite_table(rows: dict[str, FileRow]) -> str:
    """Return a line for each file, and one for all."""
    total = FileRow()
    lines = []
    for name, row in rows.items():
        total.passed, total.skipped = total.passed + row.passed, total.skipped + row.skipped
        total.drawn, total.tests = total.drawn + row.drawn, total.tests + row.tests
        total.launches, total.cpu_s = total.launches + row.launches, total.cpu_s + row.cpu_s
        for whose, tests in row.failed.items():
            total.failed.setdefault(whose, []).extend(tests)
        lines.append(_cells(f"`{name}`", row))
    head = ("file", "drawn", "passed", "skipped", *(f"{whose}'s fault" for whose in WHOSE[:-1]), WHOSE[-1])
    lines.append(_cells("all", total))
    notes = []
    for name, row in rows.items():
        tests = [f"{whose}: {', '.join(f'`{test}`' for test in tests)}" for whose, tests in row.failed.items()]
        if tests or row.why:
            notes.append(f"- `{name}`: " + "; ".join([*row.why, *tests]))
    return "\n".join((table((*head, "cut off", "launches", "CPU time"), lines), "", *notes))


def _cells(name: str, row: FileRow) -> tuple[str, ...]:
    failed = [str(len(row.failed.get(whose, ()))) for whose in WHOSE]
    counts = (f"{row.drawn} of {row.tests:,}", str(row.passed), str(row.skipped), *failed, row.cut or "–")
    return (name, *counts, f"{row.launches:,}".replace(",", " "), f"{row.cpu_s:.0f} s")


def suite_text(kept: dict[str, Any]) -> str:
    """Return a suite's sentence and table."""
    rows = {name: FileRow(**values) for name, values in kept["rows"].items()}
    passed = sum(row.passed for row in rows.values())
    judged = passed + sum(len(tests) for row in rows.values() for tests in row.failed.values())
    drawn = f"{len(rows)} of {kept['drawn']} files were run" if kept["of"] > 1 else f"{len(rows)} files were run"
    how = f"seed {kept['seed']}, 1 of {kept['of']} files" if kept["of"] > 1 else f"seed {kept['seed']}"
    share = f"{passed / judged:.1%}" if judged else "none"
    head = (
        f"**{kept['title']}** ({how}, up to {kept['tests']} tests of each): {drawn}, of {judged} tests with a verdict"
    )
    return f"{head} {passed} pass ({share}).\n\n{suite_table(rows)}"


def main() -> None:
    """Run what the arguments ask for, and renew the page."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES, metavar="SUITE")
    parser.add_argument("place", type=lambda text: Path(text).absolute(), metavar="TESTS")
    parser.add_argument("folder", type=lambda text: Path(text).absolute(), metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=56)
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--each", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=1200.0)
    parser.add_argument("--files", nargs="*", default=[])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    asked = parser.parse_args()
    suite, rows, begun = SUITES[asked.suite], dict[str, FileRow](), resource.getrusage(resource.RUSAGE_CHILDREN)
    first = recorded_draws().get(asked.suite, {}).get("rows", {}) if asked.fresh else ()
    drawn = draw_files(asked.place, suite, asked.seed, asked.of, first)
    recorded = {} if asked.again else recorded_rows(asked)
    for name in drawn:
        if (name in recorded and name not in asked.files) or (asked.files and name not in asked.files):
            rows |= {name: recorded[name]} if name in recorded else {}
            continue
        notes = asked.folder / "tests" / f"{asked.suite}.{name.replace('/', '.')}.jsonl"
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = used.ru_utime + used.ru_stime - begun.ru_utime - begun.ru_stime
        row = read_row(notes.read_text().splitlines(), suite.title) if notes.exists() else FileRow()
        if not row.ended and spent < asked.seconds:
            run_file(suite, asked.place / name, notes, asked)
            row = read_row(notes.read_text().splitlines(), suite.title)
        if row.drawn or row.ended:
            rows[name] = row
            print(name, row.drawn, row.passed, row.skipped, row.failed, row.cut, f"{row.cpu_s:.1f} s", flush=True)
    write(asked, rows, len(drawn))


def _draw(asked: Namespace) -> dict[str, Any]:
    """Return what is drawn, as the table records it."""
    title = SUITES[asked.suite].title + (", other files" if asked.fresh else "")
    return {"title": title, "seed": asked.seed, "of": asked.of, "tests": asked.tests}


def _key(asked: Namespace) -> str:
    """Return a draw's name among the recorded ones."""
    return f"{asked.suite}.fresh" if asked.fresh else str(asked.suite)


def recorded_draws() -> dict[str, Any]:
    """Return the recorded draws by name."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def recorded_rows(asked: Namespace) -> dict[str, FileRow]:
    """Return the table's rows for the same draw."""
    kept = recorded_draws().get(_key(asked), {})
    if _draw(asked).items() <= kept.items():
        return {name: FileRow(**values) for name, values in kept["rows"].items()}
    return {}


def write(asked: Namespace, rows: dict[str, FileRow], drawn: int) -> None:
    """Store a suite's rows, and write its table into the page."""
    kept = recorded_draws()
    kept[_key(asked)] = {**_draw(asked), "drawn": drawn, "rows": {name: vars(row) for name, row in rows.items()}}
    kept = {name: kept[name] for key in SUITES for name in (key, f"{key}.fresh") if name in kept}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    text = PAGE.read_text(encoding="utf-8")
    tables = "\n\n".join(suite_text(one) for one in kept.values())
    PAGE.write_text(renewed(text, {"python": lambda: tables}), encoding="utf-8")


if __name__ == "__main__":
    main()
