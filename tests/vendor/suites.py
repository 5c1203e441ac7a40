"""AMD's own test programs by one command: a part of each library's, with what fails and whose fault it is.

    python -m tests.vendor.suites [--seconds S] [--of N] [LIBRARY...]

runs them on the simulated R9 Nano without timing, one after another, and renews the table of results/vendor-tests.md
for the named libraries, or all. `--of N`: of the shards below, each is divided by N once more; `--seconds`:
processor time of a program and of gpusim together, after which it is ended: what it has run by then counts. Where the
packages are: see tests.vendor.packages.
"""

import json
import re
import sys
from argparse import ArgumentParser
from dataclasses import dataclass, field, replace
from pathlib import Path

from docs._site.pages import renewed, table
from tests.vendor.programs import ROCBLAS_CASES, ROCSPARSE_CASES, Limit, Outcome, Shard, root, run_shard
from workloads.toolchain.compilers import find_hip_tools
from workloads.toolchain.errors import KernelBuildError

PAGE = Path(__file__).resolve().parents[2] / "docs/results/vendor-tests.md"
RESULTS = PAGE.parents[2] / "results/vendor-tests.json"
SECONDS = 120.0  # of a program
WALL = 20  # times as much wall time it may take: on a busy host


def _all(package: str, *programs: str) -> tuple[Shard, ...]:
    return tuple(Shard(package, program) for program in programs)


BEYOND_LDS = (
    "complex_forward_len_32_128_8_double_op_batch_2_istride_1024_8_1_CP_ostride_1024_8_1_CI"
    "_idist_32768_odist_32768_ioffset_0_0_ooffset_0_0"
)

# a library's programs; a shard is a fixed part of what a filter leaves
SUITES: dict[str, tuple[Shard, ...]] = {
    "rocBLAS": (Shard("librocblas0-tests", "rocblas-test", "*quick*-*graph*", 4000, 1901, cases=ROCBLAS_CASES),),
    "rocSPARSE": (Shard("librocsparse0-tests", "rocsparse-test", "quick*", 240, 7, cases=ROCSPARSE_CASES),),
    "rocFFT": (  # which tests there are hangs on the seed, by default a random one
        Shard("librocfft0-tests", "rocfft-test", "*pow2*:*mix*", 4000, 321, arguments=("--seed", "450503556")),
        Shard("librocfft0-tests", "rocfft-test", "manual*", arguments=("--token", BEYOND_LDS)),
    ),
    "rocRAND": _all(
        "librocrand1-tests",
        *("test_rocrand_kernel_philox4x32_10", "test_rocrand_kernel_sobol32", "test_rocrand_kernel_mtgp32"),
        *("test_rocrand_kernel_lfsr113", "test_rocrand_kernel_mrg", "test_rocrand_kernel_xorwow"),
        *("test_rocrand_linkage", "test_rocrand_cpp_wrapper", "test_rocrand_generator_type"),
    ),
    "rocSOLVER": (
        Shard("librocsolver0-tests", "rocsolver-test", "*checkin*GETRF*:*checkin*POTRF*:*checkin*GEQR*", 60, 7),
        Shard("librocsolver0-tests", "rocsolver-test", "*checkin*SYEVJ.*:*checkin*STEBZ*", 12, 3),
    ),
    "rocPRIM": _all(
        "librocprim-tests",
        *("test_basic", "test_block_shuffle", "test_block_exchange", "test_intrinsics", "test_counting_iterator"),
        *("test_block_sort_merge", "test_device_transform"),
    ),
    "rocThrust": _all(
        "librocthrust-tests",
        *("test_thrust_complex", "test_thrust_fill", "test_thrust_device_delete", "test_thrust_async_reduce"),
        *("test_thrust_copy", "test_thrust_async_sort"),
    ),
    "rocALUTION": (Shard("librocalution0-tests", "rocalution-test", "*", 200, 7),),
    "hipBLAS": (Shard("libhipblas0-tests", "hipblas-test", "*", 500, 3),),
    "hipSPARSE": (
        Shard("libhipsparse0-tests", "hipsparse-test", "*", 60, 7),
        Shard("libhipsparse0-tests", "hipsparse-test", "*csrgeam*:*csrgemm*", 40, 3),
    ),
    "hipSOLVER": (Shard("libhipsolver0-tests", "hipsolver-test", "*", 1000, 3),),
    "hipFFT": (Shard("libhipfft0-tests", "hipfft-test", "*pow2_1D*", 4000, 12),),
    "hipRAND": _all("libhiprand1-tests", "test_hiprand_kernel", "test_hiprand_linkage"),
    "hipCUB": _all(
        "libhipcub-tests",
        *("test_hipcub_basic", "test_hipcub_block_shuffle", "test_hipcub_thread", "test_hipcub_grid"),
        "test_hipcub_device_merge_sort",
    ),
}
_COMPILED = ("rocFFT", "hipFFT")  # their kernels are compiled as the program runs


@dataclass(frozen=True)
class Known:
    """A failure whose cause is known.

    program, test: regular expressions of its name; whose: "compiler", "library" or "open"; why: the cause, in words.
    """

    program: str
    test: str
    whose: str
    why: str

    def matches(self, program: str, test: str) -> bool:
        """Tell whether a test that failed is this one."""
        return bool(re.search(self.program, program) and re.fullmatch(self.test, test))


_CLAMP = "Debian's clang 17 loses the clamp of a subtraction with a literal (`x < 128u ? 0u : x - 128u`)"
_JACOBI = "`syevj_small_kernel` has a race: a barrier is missing between the sum of `cosines_res` and its next use"
_BISECTION = "`stebz_bisection_kernel` takes the logarithm of `pivmin`, which is 0 where FP32 denormals are flushed"
_CONSTRUCTED = "`copy_if` assigns to objects in LDS that were never constructed (NVIDIA/thrust issue 1153)"
KNOWN = (
    Known("test_block_sort_merge|test_thrust_async_sort|device_merge_sort", ".*", "compiler", _CLAMP),
    Known("rocsolver-test", ".*(SYEVJ|GESVDJ).*", "library", _JACOBI),
    Known("rocsolver-test", ".*(STEBZ|SYEVX|GESVDX|SYEVDX).*", "library", _BISECTION),
    Known("test_thrust_copy", ".*CopyIfNonTrivial.*", "library", _CONSTRUCTED),
)


@dataclass
class Row:
    """What became of a library's tests.

    failed: names of tests (a program that ended within one counts it), by whose fault; loose: what the runtime said of
    accesses beyond allocations; cut: programs that were ended, each with the limit that it reached.
    """

    programs: int = 0
    passed: int = 0
    skipped: int = 0
    failed: dict[str, list[str]] = field(default_factory=dict)
    why: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    launches: int = 0
    cpu_s: float = 0.0


def names(output: str, mark: str) -> list[str]:
    """The tests of a program's output that have a mark, each once, in order."""
    pattern = rf"^\[ *{mark} *\] ([^\s,]+)(?:,.*)?(?: \(\d+ ms\))?$"
    return list(dict.fromkeys(re.findall(pattern, output, re.MULTILINE)))


def of_googletest(output: str, cut: bool) -> tuple[int, int, list[str]]:
    """How many tests passed and were skipped, and which failed; one within which the program ended is one of these.

    cut: the program was ended, and the test within it says nothing.
    """
    passed, failed, skipped = (names(output, mark) for mark in ("OK", "FAILED", "SKIPPED"))
    passed = [name for name in passed if name not in skipped]
    begun = names(output, "RUN")
    if begun and not cut and begun[-1] not in (*passed, *failed, *skipped):
        failed.append(begun[-1])
    return len(passed), len(skipped), failed


def of_thrust(output: str, cut: bool) -> tuple[int, int, list[str]] | None:
    """The same of rocThrust's own driver, whose known failures count as skipped; None for another program's output."""
    if not re.search(r"^Running \d+ unit tests", output, re.MULTILINE):
        return None
    totals = re.search(r"^Totals: \d+ failures, (\d+) known .* (\d+) passes", output, re.MULTILINE)
    failed = re.findall(r"^(?:FAILURE|ERROR): (\w+)", output, re.MULTILINE)
    if totals is None:
        return 0, 0, failed if cut else [*failed, "(the program ended)"]
    return int(totals[2]), int(totals[1]), failed


def add(row: Row, shard: Shard, done: Outcome) -> None:
    """Add what a program came to."""
    passed, skipped, failed = of_thrust(done.output, bool(done.cut)) or of_googletest(done.output, bool(done.cut))
    if not (passed or skipped or failed or done.cut):
        failed.append("(none was run)")
    row.programs += 1
    row.passed, row.skipped = row.passed + passed, row.skipped + skipped
    row.launches, row.cpu_s = row.launches + done.launches, row.cpu_s + done.cpu_s
    row.cut += [done.cut] if done.cut else []
    for name in failed:
        known = next((one for one in KNOWN if one.matches(shard.program, name)), None)
        row.failed.setdefault(known.whose if known else "unexplained", []).append(f"{shard.program} {name}")
        if known and known.why not in row.why:
            row.why.append(known.why)
    if "let through" in done.output:
        row.why.append("accesses beyond its own buffers are let through, as on a card")
        row.why = list(dict.fromkeys(row.why))


def run(library: str, seconds: float, of: int) -> Row:
    """Run a library's programs."""
    row = Row()
    if library in _COMPILED:
        try:
            find_hip_tools()
        except KernelBuildError as missing:
            row.why.append(f"not run: {missing}")
            return row
    for shard in SUITES[library]:
        part = replace(shard, shards=shard.shards * of)
        done = run_shard(part, Limit(seconds, WALL * seconds))
        add(row, part, done)
        what = f"cut off after {done.cut}" if done.cut else f"code {done.code}"
        sys.stderr.write(f"{library}: {shard.program}: {what}, {done.cpu_s:.0f} s of CPU time\n")
        if row.failed.get("unexplained") and not done.cut:
            sys.stderr.write(done.output[-1500:] + "\n")
    return row


def page_table(rows: dict[str, Row]) -> str:
    """docs/results/vendor-tests.md: a line for each library, then what failed."""
    lines = []
    for library, row in rows.items():
        failed = [str(len(row.failed.get(whose, ()))) for whose in ("compiler", "library", "open", "unexplained")]
        cut = f"{len(row.cut)}, after {' and '.join(dict.fromkeys(row.cut))}" if row.cut else "0"
        counts = (str(row.programs), str(row.passed), str(row.skipped), *failed, cut)
        lines.append((library, *counts, f"{row.launches:,}".replace(",", " "), f"{row.cpu_s:.0f} s"))
    head = (
        *("library", "programs", "passed", "skipped", "compiler's fault", "library's own", "open", "unexplained"),
        *("cut off", "launches", "CPU time"),
    )
    notes = []
    for library, row in rows.items():
        tests = [f"{whose}: {', '.join(f'`{name}`' for name in held)}" for whose, held in row.failed.items()]
        if tests or row.why:
            notes.append(f"- {library}: " + "; ".join([*row.why, *tests]))
    return "\n".join((table(head, lines), "", *notes))


def main() -> None:
    """Run what the arguments ask for, and renew the page."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--of", type=int, default=1)
    asked = parser.parse_args()
    unknown = [name for name in asked.libraries if name not in SUITES]
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: no such library; there are {', '.join(SUITES)}")
    root()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rows = {library: Row(**values) for library, values in kept.items()}
    for library in asked.libraries or SUITES:
        rows[library] = run(library, asked.seconds, asked.of)
        rows = {name: rows[name] for name in SUITES if name in rows}
        RESULTS.write_text(json.dumps({name: vars(row) for name, row in rows.items()}, indent=1) + "\n")
        renew(rows)


def renew(rows: dict[str, Row]) -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(renewed(text, {"suites": lambda: page_table(rows)}), encoding="utf-8")


if __name__ == "__main__":
    main()
