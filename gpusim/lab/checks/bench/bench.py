"""The speed benchmark: how fast the simulator is on each case, where its time goes, and what earlier runs measured."""

import json
import math
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpusim.base.errors import SimulationError, UserError, unknown_name
from gpusim.base.jit import JIT_DISABLED
from gpusim.base.processors import processor_name
from gpusim.base.version import __version__
from gpusim.config.run import RunConfig, load_run
from gpusim.lab.checks.bench.cases import CASES, GEMM_SETTINGS, BenchCase
from gpusim.model.core.loop import run_cycles
from gpusim.model.core.occupancy import residency
from gpusim.model.core.simulator import simulate
from isa.execution.emulator import run_functional

CONFIG = "layerB.yaml"


class BenchError(SimulationError):
    """A case does not do what it promises; the message names it and says how it differs."""


@dataclass(frozen=True)
class BenchResult:
    """One measurement of one benchmark; times are CPU seconds unless named otherwise."""

    date: str
    """Date of the measurement."""
    version: str
    """Version of gpusim."""
    machine: str
    """Name of the host."""
    processor: str
    """Processor of the host."""
    case: str
    """Name of the benchmark."""
    bound: str
    """Roofline bound for which the benchmark is made."""
    kernel: str
    """Name of the kernel."""
    instructions: int
    """Wavefront instructions."""
    l1_lines: int
    """Transactions of the vector L1s."""
    cycles: int
    """Simulated cycles."""
    compile_s: float
    """Compilation time of the simulator in seconds."""
    setup_s: float
    """Preparation time of the launch in seconds."""
    cpu_s: float
    """CPU time of the run in seconds."""
    wall_s: float
    """Wall time of the run in seconds."""
    functional_cpu_s: float
    """CPU time in seconds of the same launch without timing; the rest of `cpu_s` is the timing model's."""
    instructions_per_s: float
    """Wavefront instructions simulated per CPU second."""
    l1_lines_per_s: float
    """Transactions of the vector L1s simulated per CPU second."""
    functional_instructions_per_s: float
    """Wavefront instructions executed without timing per CPU second."""
    cycles_per_s: float
    """Cycles simulated per CPU second."""
    roofline: dict[str, float]
    """Cycles of each roofline bound, by name."""

    @property
    def largest_bound(self) -> str:
        """The roofline bound of the most cycles, which limits the kernel."""
        return max(self.roofline, key=lambda name: self.roofline[name])


def chosen_cases(names: Sequence[str]) -> list[BenchCase]:
    """Return the cases of these names, which may be joined by commas, or all; raise UserError for an unknown name."""
    known = {case.name: case for case in CASES}
    asked = [part for name in names for part in name.split(",") if part]
    for name in asked:
        if name not in known:
            raise UserError(unknown_name("benchmark", name, known))
    return [case for case in CASES if not asked or case.name in asked]


def load(extra: Sequence[str]) -> RunConfig:
    """Load the machine that is measured; `extra`: further `--set` texts."""
    return load_run(CONFIG, [*GEMM_SETTINGS, *extra])


def warm_up(config: RunConfig) -> float:
    """Compile or load the core by a smallest run; return the seconds that this took."""
    case = CASES[0]
    facts = simulate(case.build(config, case.small).launch, config.gpu, threads=1)
    functional = run_functional(case.build(config, case.small).launch)
    compile_s: float = facts.simulator.compile_s + functional.compile_s
    return compile_s


def write_core_map() -> Path:
    """Name the compiled core's functions for `perf`; after `warm_up`. Raise UserError where nothing is compiled."""
    if JIT_DISABLED:
        raise UserError("--perf-map: with the JIT disabled nothing is compiled")
    from gpusim.base.jit.perf_map import write_perf_map

    return write_perf_map((run_cycles,))


def measure(
    case: BenchCase, config: RunConfig, repeat: int = 1, small: bool = False, compile_s: float = 0.0
) -> BenchResult:
    """Run a case with timing, then functionally alone, both `repeat` times, of which the fastest counts.

    Every run's result is first compared with NumPy's:.

    Args:
        case: The case.
        config: The configuration.
        repeat: Runs of each, of which the fastest counts.
        small: At the size that is for tests.
        compile_s: Seconds of compilation before it.

    Raises:
        BenchError: A result differs from NumPy's.
    """
    size = case.small if small else case.size
    runs, executions, setup_s = [], [], 0.0
    for _ in range(repeat):
        start = time.perf_counter()
        prepared = case.build(config, size)
        setup_s = time.perf_counter() - start
        runs.append(simulate(prepared.launch, config.gpu, threads=1))
        _check(case, prepared.wrong())
        prepared = case.build(config, size)
        executions.append(run_functional(prepared.launch, residency=residency(prepared.launch, config.gpu), threads=1))
        _check(case, prepared.wrong())
    facts = min(runs, key=lambda run: run.simulator.cpu_s)
    functional = min(executions, key=lambda run: run.seconds)
    if functional.wavefront_instructions != facts.kernel.wavefront_instructions:
        raise BenchError(f"{case.name}: functional execution alone ran another number of instructions")
    lines = facts.l1.read_transactions + facts.l1.write_transactions
    return BenchResult(
        date=time.strftime("%Y-%m-%dT%H:%M:%S"),
        version=__version__,
        machine=f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        processor=processor_name(),
        case=case.name,
        bound=case.bound,
        kernel=facts.kernel.name,
        instructions=facts.kernel.wavefront_instructions,
        l1_lines=lines,
        cycles=facts.cycles,
        compile_s=compile_s,
        setup_s=setup_s,
        cpu_s=facts.simulator.cpu_s,
        wall_s=facts.simulator.wall_s,
        functional_cpu_s=functional.seconds,
        instructions_per_s=facts.kernel.wavefront_instructions / facts.simulator.cpu_s,
        l1_lines_per_s=lines / facts.simulator.cpu_s,
        functional_instructions_per_s=functional.instructions_per_s,
        cycles_per_s=facts.cycles / facts.simulator.cpu_s,
        roofline=facts.roofline,
    )


def _check(case: BenchCase, wrong: str | None) -> None:
    if wrong is not None:
        raise BenchError(f"{case.name}: the result is wrong: {wrong}")


def read_history(path: Path) -> list[dict[str, Any]]:
    """Return earlier measurements, oldest first; raise UserError for a file that is no history."""
    if not path.is_file():  # none yet, or a device, which keeps nothing
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: is no benchmark history: {error}") from None
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not _is_measurement(entry):
            raise UserError(f"{path}: is no benchmark history: entry {number} is no measurement")
    return entries


def _is_measurement(entry: dict[str, Any]) -> bool:
    speed = entry.get("instructions_per_s")
    needed = {"date", "machine", "kernel", "instructions"}
    # a speed of the kind that is measured: a number that another one can be divided by
    return needed <= set(entry) and isinstance(speed, float) and 0 < speed < math.inf


def comparable(history: Sequence[dict[str, Any]], result: BenchResult) -> list[dict[str, Any]]:
    """Return earlier measurements of the same case and work on the same machine, oldest first.

    Args:
        history: Earlier measurements.
        result: The new measurement.
    """

    def same(entry: dict[str, Any]) -> bool:
        case = entry.get("case", entry["kernel"])  # before there were cases, one kernel was measured
        processor = entry.get("processor", result.processor)
        there = (case, entry["machine"], processor, entry["instructions"])
        return there == (result.case, result.machine, result.processor, result.instructions)

    return [entry for entry in history if same(entry)]


def change_percent(before: dict[str, Any], result: BenchResult) -> float:
    """Return how much faster the same work has become, in per cent; negative values mean slower.

    Args:
        before: The earlier measurement.
        result: The new measurement.
    """
    rate_before: float = before["instructions_per_s"]
    return 100.0 * (result.instructions_per_s / rate_before - 1.0)


def append_history(path: Path, result: BenchResult) -> None:
    """Append a measurement to the history, a JSON object in a line; its folder is made if there is none.

    Args:
        path: File of the history.
        result: The measurement.

    Raises:
        UserError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
