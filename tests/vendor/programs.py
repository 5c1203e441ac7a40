"""AMD's libraries on the simulated GPU: their own test programs, and calls of them that are timed.

The variable GPUSIM_VENDOR_ROOT names the folder that `python -m tests.vendor.packages FOLDER` has filled.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs._site.pages import table
from gpusim.base.errors import UserError

VARIABLE = "GPUSIM_VENDOR_ROOT"
REPOSITORY = Path(__file__).resolve().parents[2]
_TESTS = "usr/libexec/rocm"
_SHARE = "usr/share"  # where the test programs look for their data, by an absolute path
_LOOK_S = 1.0  # between two looks at the processor time of a program that has a limit
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_GRACE_S = 60.0  # for a program that was told to end: gpusim reports what has run by then


ROCBLAS_CASES = "usr/share/rocblas/2.47.0/test/rocblas_gtest.data"
ROCSPARSE_CASES = "usr/share/rocsparse/2.5.4/test/rocsparse_test.data"


@dataclass(frozen=True)
class Shard:
    """A fixed part of a test program's tests: those of one shard of several whose names the filter takes.

    cases: the file, below the packages' folder, from which the program takes its test cases (its option `--data`); a
    shard is then one of every `shards` cases of the file, and the program reads these alone.
    """

    package: str
    program: str
    filter: str = "*"
    shards: int = 1
    index: int = 0
    timed: bool = False
    arguments: tuple[str, ...] = ()  # of the program
    cases: str = ""


SHARDS = (
    Shard("librocblas0-tests", "rocblas-test", "*quick*-*graph*", 1500, 3),
    Shard("librocblas0-tests", "rocblas-test", "*pre_checkin*gemm*-*graph*", 3000, 5),
    Shard("librocblas0-tests", "rocblas-test", "*quick*-*graph*", 30000, 7, timed=True),
    Shard("librocblas0-tests", "rocblas-test", "*graph*", 300, 3),
    Shard("librocsparse0-tests", "rocsparse-test", "quick*", 60, 7),
    Shard("librocsparse0-tests", "rocsparse-test", "quick*csrmv*", 200, 3, timed=True),
    Shard("librocrand1-tests", "test_rocrand_kernel_philox4x32_10"),
    Shard("librocrand1-tests", "test_rocrand_kernel_threefry2x32_20"),
    Shard("librocrand1-tests", "test_rocrand_kernel_sobol32"),
    Shard("librocrand1-tests", "test_rocrand_kernel_mtgp32"),
    Shard("librocrand1-tests", "test_rocrand_kernel_xorwow"),
)
CALLS = (
    ("rocBLAS SGEMM, 512 × 512 × 512", ("sgemm", "512", "512", "512")),
    ("rocBLAS SGEMM, 1024 × 1024 × 1024", ("sgemm", "1024", "1024", "1024")),
    ("rocSPARSE CSR × vector, 16 384 rows of 16", ("csrmm", "16384", "1", "16384", "16")),
    ("rocSPARSE CSR × 4096 × 64, 4096 rows of 32", ("csrmm", "4096", "64", "4096", "32")),
    ("rocFFT, 4096 points, 64 times", ("fft", "4096", "64")),
)
GPUS = ("r9nano", "mi6")


def root() -> Path:
    """The folder with the packages; UserError where it is not named."""
    named = os.environ.get(VARIABLE)
    if not named:
        raise UserError(f"{VARIABLE} names no folder with AMD's libraries: python -m tests.vendor.packages FOLDER")
    return Path(named).absolute()


@dataclass(frozen=True)
class Limit:
    """When a program is cut off: after so much processor time of it, of gpusim and of what they start, or, however
    busy the host is, after so much wall time.
    """

    cpu_s: float
    wall_s: float


@dataclass(frozen=True)
class Outcome:
    """What a test program came to.

    tests, passed: as the program counts them; cpu_s: of gpusim, the program and what they started; cut: the limit that
    ended it, "" if none did.
    """

    code: int
    tests: int
    passed: int
    launches: int
    kernels: int
    cpu_s: float
    output: str
    cut: str = ""


def run_shard(shard: Shard, limit: Limit | None = None) -> Outcome:
    """Run a part of a test program on the simulated R9 Nano."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "GTEST_FILTER": shard.filter,
    }
    if not shard.cases:
        environment |= {"GTEST_TOTAL_SHARDS": str(shard.shards), "GTEST_SHARD_INDEX": str(shard.index)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        program = root() / _TESTS / shard.package / shard.program
        timing = "on" if shard.timed else "off"
        options = ["--timing", timing, "--root", str(root()), "--quiet", "--json", str(result)]
        arguments = shard.arguments
        if shard.cases:
            part = Path(folder) / "cases.data"
            part.write_bytes(some_cases((root() / shard.cases).read_bytes(), shard.shards, shard.index))
            arguments += ("--data", str(part))
        command = _with_data([*gpusim_command(), *options, "--", str(program), *arguments])
        code, output, cut = run_within(command, environment, limit)
        kernels = json.loads(result.read_text())["rows"] if result.exists() else []
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Outcome(
        code,
        _count(r"^\[==========\] (\d+) tests? .* ran", output),
        _count(r"^\[  PASSED  \] (\d+) test", output),
        sum(kernel["launches"] for kernel in kernels),
        len(kernels),
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        output,
        cut,
    )


def some_cases(data: bytes, shards: int, index: int) -> bytes:
    """Every `shards`-th test case from `index` on of rocBLAS's or rocSPARSE's file of them, as a file of the same kind.

    The file has the layout of a case, between the library's name and the name with its letters' case swapped, then the
    cases. rocblas-test reads all 740 MB again for each group of its tests, which takes a minute of processor time.
    Raises ValueError for another file.
    """
    name = data[: data.index(0) + 1]
    layout = data.index(name.swapcase()) - len(name)
    begin = layout + 2 * len(name)
    count, rest = divmod(len(data) - begin, layout)
    if rest:
        raise ValueError(f"not a file of test cases of {layout} bytes each: {rest} bytes are left")
    chosen = (begin + case * layout for case in range(index, count, shards))
    return data[:begin] + b"".join(data[at : at + layout] for at in chosen)


def run_within(command: list[str], environment: dict[str, str], limit: Limit | None) -> tuple[int, str, str]:
    """Run a command; returns its exit code, what it printed, and the limit at which it was told to end."""
    begun, cut = time.monotonic(), ""
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, env=environment, text=True, errors="replace", **pipe) as process:
        while True:
            try:
                output, _ = process.communicate(timeout=_LOOK_S if limit else None)
            except subprocess.TimeoutExpired:
                if not cut:
                    cut = _limit_reached(process.pid, begun, limit)
                    if cut:
                        process.terminate()
                        begun = time.monotonic()
                elif time.monotonic() - begun > _GRACE_S:
                    process.kill()
            else:
                return process.returncode, output, cut


def _limit_reached(process: int, begun: float, limit: Limit | None) -> str:
    if limit and processor_s(process) > limit.cpu_s:
        return f"{limit.cpu_s:g} s"
    if limit and time.monotonic() - begun > limit.wall_s:
        return f"{limit.wall_s:g} s of wall time"
    return ""


def processor_s(process: int) -> float:
    """The processor time of a process, of those that it has started and of theirs, in seconds (proc(5), stat)."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended; who waits for it counts its time
            continue
        number = int(path.parent.name)
        parents[number], ticks[number] = int(fields[1]), sum(map(int, fields[11:15]))
    total, family = 0, [process]
    while family:
        one = family.pop()
        total += ticks.get(one, 0)
        family += [child for child, parent in parents.items() if parent == one]
    return total / _TICKS_PER_S


def gpusim_command() -> list[str]:
    return [sys.executable, "-c", "from gpusim.cli.start import main; main()", "hip"]


def _with_data(command: list[str]) -> list[str]:
    """The command where the packages' data lie under /usr/share: in a mount namespace of its own."""
    bind = f'mount --bind "{root() / _SHARE}" /{_SHARE} && exec "$@"'
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", bind, "sh", *command]


def _count(pattern: str, text: str) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    return int(found[1]) if found else 0


def built_calls(folder: Path) -> Path:
    """calls.cpp, built by the system's compiler."""
    compiler = shutil.which("c++") or "g++"
    target = folder / "calls"
    source = Path(__file__).with_name("calls.cpp")
    subprocess.run([compiler, "-std=c++17", "-O2", str(source), "-o", str(target), "-ldl"], check=True)
    return target


def run_call(program: Path, words: tuple[str, ...], gpu: str, *options: str) -> tuple[str, dict[str, Any]]:
    """What a call printed, and the JSON object of its launches."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [*gpusim_command(), "--gpu", gpu, "--root", str(root()), "--quiet", "--json", str(result), *options]
        done = subprocess.run(
            [*command, "--", str(program), *words],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)} on {gpu}: code {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout, json.loads(result.read_text())


def run_product(kernel: str, sparse: bool, zeros: float, folder: Path, workload: dict[str, Any]) -> Any:
    """The JSON object of a product by a kernel or a library, on MI6."""
    config = folder / "product.yaml"
    config.write_text(json.dumps({"gpu": "mi6", "workload": {**workload, "sparsity": zeros}}))
    result = folder / "product.json"
    command = [sys.executable, "-c", "from gpusim.cli.start import main; main()", "run", str(config), "--quiet"]
    choice = ["--engine", "on" if sparse else "off", "--set", f"kernels.{'sparse' if sparse else 'dense'}={kernel}"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [*command, *choice, "--json", str(result)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{kernel}: code {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(result.read_text())


def test_table() -> str:
    """docs/how-to/hip.md: AMD's test programs."""
    rows = []
    for shard in SHARDS:
        done = run_shard(shard)
        part = "all" if shard.shards == 1 else f"`{shard.filter}`, {shard.index} of {shard.shards}"
        timing = "on" if shard.timed else "off"
        counts = (f"{done.passed} of {done.tests}", f"{done.launches:,}".replace(",", " "), str(done.kernels))
        rows.append((f"`{shard.program}`", part, timing, *counts, f"{done.cpu_s:.0f} s"))
    head = ("program", "tests", "timing", "passed", "launches", "kernels", "CPU time")
    return table(head, rows)


def call_table() -> str:
    """docs/how-to/hip.md: calls of the libraries on the shipped GPUs."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = built_calls(Path(folder))
        for title, words in CALLS:
            cells, names = [], ""
            for gpu in GPUS:
                printed, result = run_call(program, words, gpu)
                us, gflops = re.findall(r"([\d.]+) us (\d+) GFLOP/s", printed)[0]
                bounds = [one["bound"]["name"] for one in result["rows"] if one["timed"]]
                cells.append(f"{us} µs, {gflops} GFLOP/s, {bounds[0]}")
                names = str(len(result["rows"]))
            rows.append((title, names, *cells))
    return table(("call", "kernels", "R9 Nano", "MI6"), rows)
