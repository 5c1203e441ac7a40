"""Does a run take every job the same way: variants in order, launches in order, and what is known after Ctrl-C?

Jobs, memory and the machine are fakes here.
"""

import io
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from gpusim.base.extensions import job_kinds
from gpusim.base.interrupt import INTERRUPTED, OUT_OF_TIME, Interrupt
from gpusim.base.progress import Progress, Reporter, current_reporter
from gpusim.config.run import load_run
from gpusim.config.workload import Workload
from gpusim.jobs.host import command_processor
from gpusim.jobs.host.command_processor import CopyCommand, HostCommand, LaunchCommand, RunOptions
from gpusim.jobs.kinds import make_run_job
from gpusim.jobs.running import runner
from gpusim.jobs.running.job import CommandTask, Context, JobOptions, Variant
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.model import EnergyModel
from gpusim.model.energy.spec import EnergySpec
from gpusim.results.records.record import KernelChoice, RunRecord, VerificationFacts
from gpusim.results.report.document import document
from isa.device_memory import DeviceMemory
from spartan.engine_spec import EngineSpec
from workloads.operators.verify import Mismatch, Verification

LAUNCH_US = 5.0
ENGINE = EngineSpec(sib_kib=7)
CHOICE = KernelChoice("k", {}, {}, {"k": 1, "s": 2}, 0.5)
PASSED = Verification(True, 0.5, 1.0)


def launched(name: str) -> LaunchCommand:
    kernel, memory = SimpleNamespace(name=name, short_name=name, gpu="gfx803"), DeviceMemory(4096)
    return LaunchCommand(SimpleNamespace(kernel=kernel, memory=memory, pointers=(), regions=()))  # type: ignore[arg-type]


@dataclass
class FakeTask(CommandTask):
    """Its commands, as those of any list of launches and copies, go through the queue."""

    listed: Sequence[HostCommand]
    verification: Verification | None
    verified: int = 0
    finished: int = 0

    @property
    def commands(self) -> Sequence[HostCommand]:
        return self.listed

    def counts(self) -> Mapping[str, float]:
        return {"zero_fraction": 0.5, "zero_line_fraction": 0.25}

    def verify(self) -> Verification | None:
        self.verified += 1
        return self.verification

    def finish(self) -> None:
        self.finished += 1


@dataclass
class FakeJob:
    """kernels: of each variant by its name."""

    kernels: dict[str, Sequence[str | HostCommand]]
    options: JobOptions = field(default_factory=JobOptions)
    uses_engine: tuple[str, ...] = ()
    verification: Verification | None = PASSED
    interrupt_in_prepare: bool = False
    tasks: list[FakeTask] = field(default_factory=list)
    title = "a job"
    gpu = GpuSpec(kernel_launch_us=LAUNCH_US)
    engine_spec = ENGINE
    energy_spec = EnergySpec()

    @property
    def variants(self) -> list[Variant]:
        return [
            Variant(f"{name} kernel", name in self.uses_engine, lambda names=names: self.prepare(names), name)
            for name, names in self.kernels.items()
        ]

    def prepare(self, names: Sequence[str | HostCommand]) -> FakeTask:
        if self.interrupt_in_prepare:
            os.kill(os.getpid(), signal.SIGINT)
        commands = [launched(name) if isinstance(name, str) else name for name in names]
        self.tasks.append(FakeTask(commands, self.verification))
        return self.tasks[-1]

    def resolved(self) -> dict[str, Any]:
        return {}


class Machine:
    """Stands in for the core: each kernel takes 1000 cycles at 1 GHz = 1 us."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.simulated: list[tuple[str, EngineSpec | None, bool]] = []
        self.interrupt_at: str | None = None
        self.late_interrupt = False
        self.signal = signal.SIGINT
        self.reaches_cycle_limit = False
        monkeypatch.setattr(command_processor, "simulate", self.simulate)

    def simulate(self, launch, gpu, engine_spec, observer, checked, **_: Any) -> RunFacts:  # type: ignore[no-untyped-def]
        name = launch.kernel.name
        self.simulated.append((name, engine_spec, checked))
        going = observer(Progress(1, 0, 2, 10))
        if self.interrupt_at == name:
            os.kill(os.getpid(), self.signal)
            going = self.late_interrupt or observer(Progress(2, 1, 2, 20))
        going = going and not self.reaches_cycle_limit
        return RunFacts.of(not going, kernel={"name": name, "clock_ghz": 1.0, "cycles": 1000 if going else 400})


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def run(job: FakeJob, said: io.StringIO | None = None) -> list[RunRecord]:
    with Interrupt() as interrupt, interrupt.timeout(1000):
        return runner.run(job, Reporter(stream=said or io.StringIO()), interrupt)


def test_one_variant(machine: Machine) -> None:
    job = FakeJob({"": ["k"]})
    (record,) = run(job)
    assert machine.simulated == [("k", None, False)]
    assert (record.uses_engine, record.kernel, record.variant, record.partial) == (False, " kernel", "", False)
    assert record.host_time_us == LAUNCH_US + 1
    assert record.verification == VerificationFacts(True, 0.5, 1.0)
    assert (record.zero_fraction, record.zero_line_fraction) == (0.5, 0.25)
    assert job.tasks[0].finished == 1


def test_a_variant_with_the_engine_gets_its_specification(machine: Machine) -> None:
    options = JobOptions(verify=False, launches=RunOptions(checked=True))
    job = FakeJob({"dense": ["k"], "sparse": ["s"]}, options, uses_engine=("sparse",))
    records = run(job)
    assert machine.simulated == [("k", None, True), ("s", ENGINE, True)]
    assert [(r.uses_engine, r.variant) for r in records] == [(False, "dense"), (True, "sparse")]
    assert all(r.verification is None for r in records)
    assert [task.verified for task in job.tasks] == [0, 0]


def test_a_record_is_of_the_variant_that_was_decided_for(machine: Machine) -> None:
    class Deciding(FakeJob):
        @property
        def variants(self) -> list[Variant]:
            dense, sparse = super().variants
            return [replace(sparse, decide=lambda reporter, stopped: (dense, CHOICE))]

    (record,) = run(Deciding({"dense": ["k"], "sparse": ["s"]}, uses_engine=("sparse",)))
    assert (record.uses_engine, record.kernel, record.choice) == (False, "dense kernel", CHOICE)
    assert machine.simulated == [("k", None, False)]


def test_launches_and_copies_of_a_task_follow_one_another(machine: Machine) -> None:
    moved: list[int] = []
    copy = CopyCommand("to 'a'", 1 << 20, lambda: moved.append(len(machine.simulated)))
    (record,) = run(FakeJob({"": ["convert", copy, "multiply"]}))
    assert [name for name, _, _ in machine.simulated] == ["convert", "multiply"]
    assert moved == [1]
    copied_us = FakeJob.gpu.host_link.copy_us(1 << 20)
    assert record.host_time_us == pytest.approx(2 * (LAUNCH_US + 1) + copied_us)
    assert [(c.name, c.copied_bytes) for c in record.commands] == [("convert", 0), ("to 'a'", 1 << 20), ("multiply", 0)]
    assert record.total.cycles == 2000


def test_events_deep_inside_go_to_the_reporter_of_the_run(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    class Compiling(FakeJob):
        def prepare(self, names: Sequence[str | HostCommand]) -> FakeTask:
            current_reporter().say("compiling")
            return super().prepare(names)

    said = io.StringIO()
    run(Compiling({"": ["k"]}), said)
    assert (said.getvalue().count("compiling"), capsys.readouterr().err) == (1, "")


def test_interrupt_in_the_core_keeps_what_is_known(machine: Machine) -> None:
    machine.interrupt_at = "multiply"
    job = FakeJob({"": ["convert", "multiply"]})
    (record,) = run(job)
    assert [f.cycles for f in record.launches] == [1000, 400]
    assert record.partial
    assert record.verification is None
    assert job.tasks[0].finished == 1


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, INTERRUPTED), (signal.SIGALRM, OUT_OF_TIME)],
)
def test_a_record_says_what_stopped_it(machine: Machine, number: signal.Signals, reason: str) -> None:
    machine.interrupt_at, machine.signal = "k", number
    (record,) = run(FakeJob({"": ["k"]}))
    assert (record.partial, record.stopped_by) == (True, reason)
    assert document({}, [record])["stopped_by"] == reason


def test_a_launch_that_reaches_its_most_cycles_ends_the_run(machine: Machine) -> None:
    machine.reaches_cycle_limit = True
    (record,) = run(FakeJob({"": ["k", "l"]}))
    assert [name for name, _, _ in machine.simulated] == ["k"]
    assert (record.partial, record.stopped_by) == (True, runner.CYCLE_LIMIT)
    assert record.verification is None


@pytest.mark.parametrize("late", [False, True])
def test_interrupt_in_the_first_of_two_launches_skips_the_second(machine: Machine, late: bool) -> None:
    machine.interrupt_at, machine.late_interrupt = "convert", late
    (record,) = run(FakeJob({"": ["convert", "multiply"]}))
    assert [f.cycles for f in record.launches] == [1000 if late else 400]
    assert record.partial
    assert [c.name for c in record.commands] == ["convert"]


def test_interrupt_in_the_first_variant_skips_the_second(machine: Machine) -> None:
    machine.interrupt_at = "k"
    records = run(FakeJob({"dense": ["k"], "sparse": ["s"]}))
    assert [r.partial for r in records] == [True]


def test_a_task_may_say_itself_what_stopped_it(machine: Machine) -> None:
    class Stopped(FakeTask):
        def run(self, context: Context, record: RunRecord) -> None:
            record.partial, record.stopped_by = True, "its program ended"

    job = FakeJob({"dense": ["k"], "sparse": ["s"]})
    job.prepare = lambda names: Stopped([], None)  # type: ignore[method-assign]
    (record,) = run(job)
    assert record.stopped_by == document({}, [record])["stopped_by"] == "its program ended"


@pytest.mark.parametrize(("names", "told"), [([""], []), (["dense", "sparse"], [0, 1, 1, 2])])
def test_variants_are_followed_where_there_are_several(
    machine: Machine, names: list[str], told: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One alone tells its own steps, if it has any."""
    heard = []
    monkeypatch.setattr(runner, "overall", lambda done, total, unit, text: heard.append(done))
    run(FakeJob({name: ["k"] for name in names}))
    assert heard == told


def test_interrupt_before_the_core_runs_is_partial_with_nothing_known(machine: Machine) -> None:
    (record,) = run(FakeJob({"": ["k"]}, interrupt_in_prepare=True))
    assert record.partial
    assert record.total.cycles == 0


def test_failed_verification_is_kept_and_what_is_wrong_is_said(machine: Machine) -> None:
    wrong = Mismatch("C", 1, 4, (0, 1), 2.0, 3.0)
    said = io.StringIO()
    (record,) = run(FakeJob({"": ["k"]}, verification=Verification(False, 2.0, 1.0, "C", (0, 1), (wrong,))), said)
    assert record.verification == VerificationFacts(False, 2.0, 1.0)
    assert "C: 1 of 4 elements differ by more than allowed; first at [0, 1]: 2.0, expected 3.0" in said.getvalue()


def test_a_task_without_reference_is_not_verified(machine: Machine) -> None:
    (record,) = run(FakeJob({"": ["k"]}, verification=None))
    assert record.verification is None


@pytest.mark.parametrize(
    ("sets", "variants"),
    [
        (["run.engine=off"], [("", "sgemm", False)]),
        (["run.engine=on"], [("", "sgemm_dib_tiled", True)]),
        (["run.engine=on", "kernels.sparse=software"], [("", "software", False)]),
        (["run.engine=on", "kernels.sparse=fastest_engine"], [("", "sgemm_dib_tiled", True)]),  # until it is decided
        (["run.engine=on", "kernels.sparse=fastest_software"], [("", "software", False)]),
        (["run.engine=both"], [("dense", "sgemm", False), ("sparse", "sgemm_dib_tiled", True)]),
        (["run.engine=off", "workload={kind: gemm, m: 2, n: 3, k: 4}"], [("", "few_columns", False)]),
        (["run.engine=off", "kernels.dense=sgemm_wide"], [("", "sgemm_wide", False)]),
    ],
)
def test_a_configuration_s_variants(sets: list[str], variants: list[tuple[str, str, bool]]) -> None:
    job = make_run_job(load_run("layerB.yaml", sets))
    assert [(v.name, v.label, v.uses_engine) for v in job.variants] == variants


def test_every_kind_of_workload_has_its_job() -> None:
    kinds = {get_args(tagged)[0] for tagged in get_args(get_args(Workload)[0])}
    assert {kind.model_fields["kind"].default for kind in kinds} <= set(job_kinds())


def test_energies_are_those_of_the_variant_s_machine_unless_switched_off(machine: Machine) -> None:
    job = FakeJob({"dense": ["k"], "sparse": ["s"]}, uses_engine=("sparse",))
    dense, sparse = run(job)
    assert dense.energy == EnergyModel.of(EnergySpec(), job.gpu)
    assert sparse.energy == EnergyModel.of(EnergySpec(), job.gpu, ENGINE)
    job.energy_spec = EnergySpec(enabled=False)
    assert run(job)[0].energy is None
