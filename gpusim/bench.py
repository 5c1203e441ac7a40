"""The speed benchmark: how fast the simulator is, and where its time goes."""

import json
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from gpusim import __version__
from gpusim.config.model import RunConfig, load_run
from gpusim.core.simulator import simulate
from gpusim.errors import UserError
from gpusim.results import RunFacts
from isa.emulator import run_functional
from workloads.gemm import build_gemm_launches

KERNEL = "sgemm_4x4"
# 512 x 1024 x 1152: large enough that every compute unit is busy for most of the run, seconds long
SETTINGS = (
    "workload.layer.name=bench",
    "workload.layer.input_channels=128",
    "workload.batch=64",
    "workload.data=synthetic",
    "workload.sparsity=0",
    f"kernels.dense={KERNEL}",
    "run.engine=off",
)


@dataclass(frozen=True)
class BenchResult:
    """One measurement; times in seconds, CPU time unless named otherwise.

    functional_cpu_s: the same launch executed without timing; its share of cpu_s is what functional execution
    takes of a whole run, the rest is the timing model.
    """

    date: str
    version: str
    machine: str
    kernel: str
    instructions: int
    cycles: int
    compile_s: float
    setup_s: float
    cpu_s: float
    wall_s: float
    functional_cpu_s: float
    instructions_per_s: float
    functional_instructions_per_s: float
    cycles_per_s: float
    roofline: dict[str, float]


def bench(extra: list[str]) -> BenchResult:
    """Measure dense `sgemm_4x4`, functional plus timing, then functional alone; `extra`: further `--set` texts."""
    config = load_run("layerB.yaml", [*SETTINGS, *extra])
    compile_s = _warm_up(extra)
    start = time.perf_counter()
    launch = build_gemm_launches(config, KERNEL).launches[0]
    setup_s = time.perf_counter() - start
    facts = simulate(launch, config.gpu)
    functional = run_functional(build_gemm_launches(config, KERNEL).launches[0])
    if functional.wavefront_instructions != facts.wavefront_instructions:
        raise AssertionError("functional execution alone ran another number of instructions")
    return BenchResult(
        date=time.strftime("%Y-%m-%dT%H:%M:%S"),
        version=__version__,
        machine=f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        kernel=facts.kernel,
        instructions=facts.wavefront_instructions,
        cycles=facts.cycles,
        compile_s=compile_s,
        setup_s=setup_s,
        cpu_s=facts.cpu_s,
        wall_s=facts.wall_s,
        functional_cpu_s=functional.seconds,
        instructions_per_s=facts.wavefront_instructions / facts.cpu_s,
        functional_instructions_per_s=functional.instructions_per_s,
        cycles_per_s=facts.cycles / facts.cpu_s,
        roofline=facts.roofline,
    )


def _warm_up(extra: list[str]) -> float:
    """Compile or load the core by a smallest run; returns the seconds that took."""
    tiny = ["workload.layer.input_channels=1", "workload.layer.output_channels=4", "workload.batch=1"]
    config: RunConfig = load_run("layerB.yaml", [*SETTINGS, *extra, *tiny])
    facts: RunFacts = simulate(build_gemm_launches(config, KERNEL).launches[0], config.gpu)
    functional = run_functional(build_gemm_launches(config, KERNEL).launches[0])
    return facts.compile_s + functional.compile_s


def read_history(path: Path) -> list[dict]:
    """Earlier measurements, oldest first; raises UserError for a file that is no history."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: is no benchmark history: {error}") from None


def append_history(path: Path, result: BenchResult) -> None:
    """Add a measurement to the history, one JSON object a line."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
