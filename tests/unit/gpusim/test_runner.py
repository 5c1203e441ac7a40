"""Does a run ask for the right launches, in order, and say what is known after Ctrl-C? The machine is a fake here."""

import io
import os
import signal
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Progress, Reporter
from gpusim.config.run import RunConfig, load_run
from gpusim.core.facts import RunFacts
from gpusim.results.record import VerificationFacts
from gpusim.run import runner

LAUNCH_US = 5.0


@dataclass
class FakeJob:
    launches: tuple
    passed: bool = True
    verified: int = 0

    def zero_fractions(self) -> tuple[float, float]:
        return 0.5, 0.25

    def verify(self) -> VerificationFacts:
        self.verified += 1
        return VerificationFacts(self.passed, 0.5, 1.0)


class Machine:
    """Stands in for workloads and the core: each kernel takes 1000 cycles at 1 GHz = 1 us."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.simulated: list[tuple[str, bool, bool]] = []
        self.jobs: list[FakeJob] = []
        self.interrupt_at: str | None = None
        self.passed = True
        monkeypatch.setattr(runner, "build_gemm_launches", self.build)
        monkeypatch.setattr(runner, "simulate", self.simulate)
        monkeypatch.setattr(runner, "is_compiled", lambda domain: True)

    def build(self, config: RunConfig, kernel: str) -> FakeJob:
        names = ["convert", "multiply"] if kernel == "software" else [kernel]
        if self.interrupt_at == "build":
            os.kill(os.getpid(), signal.SIGINT)
        launches = tuple(SimpleNamespace(kernel=SimpleNamespace(name=name), regions=()) for name in names)
        self.jobs.append(FakeJob(launches, self.passed))
        return self.jobs[-1]

    def simulate(self, launch, gpu, engine, observer, checked, hotspots=False, timeline=None) -> RunFacts:  # type: ignore[no-untyped-def]
        name = launch.kernel.name
        self.simulated.append((name, engine is not None, checked))
        going = observer(Progress(1, 0, 2, 10))
        if self.interrupt_at == name:
            os.kill(os.getpid(), signal.SIGINT)
            going = observer(Progress(2, 1, 2, 20))
        return RunFacts.of(not going, kernel={"name": name, "clock_ghz": 1.0, "cycles": 1000 if going else 400})


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(runner, "sib_layout", lambda spec, regions: None)
    return Machine(monkeypatch)


def run(*sets: str) -> list:
    config = load_run("layerB.yaml", [f"gpu.kernel_launch_us={LAUNCH_US}", *sets])
    with Interrupt() as interrupt:
        return runner.run(config, Reporter(stream=io.StringIO()), interrupt)


def test_off_runs_the_dense_kernel_without_engine(machine: Machine) -> None:
    (record,) = run("run.engine=off")
    assert machine.simulated == [("sgemm_4x4", False, False)]
    assert (record.uses_engine, record.kernel, record.partial) == (False, "sgemm_4x4", False)
    assert record.host_time_us == LAUNCH_US + 1
    assert record.verification == VerificationFacts(True, 0.5, 1.0)


def test_on_runs_the_sparse_kernel_with_engine(machine: Machine) -> None:
    (record,) = run("run.engine=on", "run.checked=true", "run.verify=false")
    assert machine.simulated == [("sgemm_dib_tiled", True, True)]
    assert record.uses_engine
    assert record.verification is None
    assert machine.jobs[0].verified == 0


def test_both_runs_dense_first(machine: Machine) -> None:
    records = run("run.engine=both")
    assert [(r.uses_engine, r.variant) for r in records] == [(False, "dense"), (True, "sparse")]
    assert [name for name, _, _ in machine.simulated] == ["sgemm_4x4", "sgemm_dib_tiled"]


def test_software_path_is_two_dependent_launches_without_engine(machine: Machine) -> None:
    (record,) = run("run.engine=on", "kernels.sparse=software")
    assert machine.simulated == [("convert", False, False), ("multiply", False, False)]
    assert not record.uses_engine
    assert record.host_time_us == 2 * (LAUNCH_US + 1)
    assert record.total.cycles == 2000


def test_interrupt_in_the_core_keeps_what_is_known(machine: Machine) -> None:
    machine.interrupt_at = "multiply"
    (record,) = run("run.engine=on", "kernels.sparse=software")
    assert [f.cycles for f in record.launches] == [1000, 400]
    assert record.partial
    assert record.verification is None


def test_interrupt_in_the_first_of_two_launches_skips_the_second(machine: Machine) -> None:
    machine.interrupt_at = "convert"
    (record,) = run("run.engine=on", "kernels.sparse=software")
    assert [f.cycles for f in record.launches] == [400]
    assert record.partial


def test_interrupt_in_the_dense_run_skips_the_sparse_one(machine: Machine) -> None:
    machine.interrupt_at = "sgemm_4x4"
    records = run("run.engine=both")
    assert [r.partial for r in records] == [True]


def test_interrupt_before_the_core_runs_is_partial_with_nothing_known(machine: Machine) -> None:
    machine.interrupt_at = "build"
    (record,) = run("run.engine=off")
    assert record.partial
    assert record.total.cycles == 0


def test_failed_verification_is_kept(machine: Machine) -> None:
    machine.passed = False
    (record,) = run("run.engine=off")
    assert record.verification is not None
    assert not record.verification.passed
