"""Is the dense kernel of a product the fastest, found without simulating more than is needed? The machine is a fake."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from docs._site.dense_kernels import WIDE
from gpusim.base.errors import UserError
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Progress, Reporter
from gpusim.config.gpu import load_gpu
from gpusim.config.run import load_run
from gpusim.jobs.host import command_processor
from gpusim.jobs.kinds import make_run_job
from gpusim.jobs.running import dense_choice, runner
from gpusim.jobs.running.dense_choice import choose_dense
from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.facts import RunFacts
from gpusim.results.records.record import KernelChoice
from gpusim.results.report.document import document
from gpusim.results.report.page.parts import summary
from gpusim.results.report.result import read
from gpusim.results.report.screen import screen
from gpusim.results.store.outcome import RunOutcome
from gpusim.results.store.records import plain, restored
from gpusim.study.sweep.executor import LocalProcesses
from gpusim.study.sweep.tasks import TaskResult
from isa.device_memory import DeviceMemoryError
from workloads.operators.gemm_estimates import estimates
from workloads.shapes import GemmShape

SMALL, LARGE = GemmShape(96, 200, 64), GemmShape(512, 2048, 4608)
GPU = load_gpu("mi6")


class Machine:
    """Stands in for the core: cycles of each kernel; its observer hears of it at every quarter."""

    def __init__(self, cycles: dict[str, int]) -> None:
        self.cycles, self.begun = {"mmm_local": 4 * max(cycles.values()), **cycles}, list[str]()

    def simulate(self, launch: Any, gpu: Any, engine: Any, observer: Any, *_: Any, **__: Any) -> RunFacts:
        name = next(one for one in sorted(self.cycles, reverse=True) if launch.kernel.name.startswith(one))
        self.begun.append(name)
        for quarter in range(1, 5):
            if not observer(Progress(self.cycles[name] * quarter // 4, 0, 4, 10)):
                return RunFacts.of(True, kernel={"name": name, "clock_ghz": 1.0, "cycles": 1})
        return RunFacts.of(False, kernel={"name": name, "clock_ghz": 1.0, "cycles": self.cycles[name]})


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine({"sgemm": 90_000, "sgemm_4x4": 50_000, "sgemm_tiled16": 70_000, "sgemm_wide": 99_000})
    monkeypatch.setattr(command_processor, "simulate", made.simulate)
    monkeypatch.setattr(dense_choice, "_known", {})
    return made


def chosen(shape: GemmShape) -> KernelChoice:
    return choose_dense(shape, GPU, Reporter(quiet=True))


@pytest.mark.parametrize("fastest", WIDE)
def test_the_fastest_is_chosen(fastest: str, machine: Machine) -> None:
    machine.cycles[fastest] = 49_000
    choice = chosen(SMALL)
    assert choice.kernel == fastest == next(iter(choice.cycles))
    assert choice.cycles.keys() | choice.at_least.keys() == set(WIDE)
    assert choice.cycles.keys().isdisjoint(choice.at_least)
    assert all(choice.cycles[name] == machine.cycles[name] for name in choice.cycles)
    assert all(machine.cycles[name] >= cycles for name, cycles in choice.at_least.items())


def test_few_columns_are_asked_of_their_kernel_too(machine: Machine) -> None:
    machine.cycles["few_columns"] = 9_000
    choice = chosen(GemmShape(96, 8, 64))
    assert choice.kernel == "few_columns" and choice.cycles.keys() | choice.at_least.keys() == {*WIDE, "few_columns"}


def test_what_a_choice_has_found_is_not_simulated_again(machine: Machine) -> None:
    first = chosen(SMALL)
    begun = list(machine.begun)
    assert chosen(SMALL) is first and machine.begun == begun
    assert choose_dense(SMALL, load_gpu("r9nano"), Reporter(quiet=True)) is not first


@dataclass(frozen=True)
class Choosing:
    """A task that tells which kernels it simulated."""

    machine: Machine
    files: tuple[Path, ...] = ()

    def run(self) -> RunOutcome:
        del self.machine.begun[:]
        chosen(SMALL)
        raise UserError(f"simulated: {self.machine.begun}")


def test_what_a_process_of_a_sweep_has_chosen_the_next_one_knows(machine: Machine) -> None:
    processes = LocalProcesses(1, Reporter(quiet=True))
    said = []
    for key in range(2):
        processes.submit(key, Choosing(machine))
        found: list[tuple[int, TaskResult]] = []
        while not found:
            found = processes.finished()
        said.append(found[0][1].outcome.error)
    processes.stop()
    assert "'sgemm_4x4'" in (said[0] or "") and said[1] == "simulated: []"


def test_a_kernel_is_stopped_at_the_fastest_one_s_time(machine: Machine) -> None:
    first = min(estimates(SMALL, gpu_facts(GPU)), key=lambda one: one.least).kernel
    machine.cycles |= {name: 20_000 if name == first else 80_000 for name in WIDE}
    choice = chosen(SMALL)
    assert (choice.kernel, dict(choice.cycles)) == (first, {first: 20_000})
    assert len(machine.begun) > 1
    assert all(choice.at_least[name] == 20_000 for name in machine.begun[1:])


def test_nothing_is_simulated_where_estimates_decide(machine: Machine) -> None:
    choice = chosen(LARGE)
    assert (choice.kernel, machine.begun, dict(choice.cycles)) == ("sgemm", [], {})
    assert set(choice.at_least) == set(WIDE) - {"sgemm"}


def test_a_kernel_whose_sums_do_not_fit_the_memory_is_left_out(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.cycles["sgemm"] = 1_000
    build, full = dense_choice.gemm, {"sgemm"}

    def built(kernel: str, *given: Any) -> Any:
        if kernel in full:
            raise DeviceMemoryError("no space for the parts of the sum")
        return build(kernel, *given)

    monkeypatch.setattr(dense_choice, "gemm", built)
    choice = chosen(SMALL)
    assert choice.kernel == "sgemm_4x4" and "sgemm" not in choice.cycles.keys() | choice.at_least.keys()
    monkeypatch.setattr(dense_choice, "_known", {})
    full.update(WIDE)
    with pytest.raises(DeviceMemoryError, match="no space"):
        chosen(SMALL)


def test_an_interrupt_ends_it_and_leaves_nothing_known(machine: Machine) -> None:
    with pytest.raises(KeyboardInterrupt):
        choose_dense(SMALL, GPU, Reporter(quiet=True), lambda: bool(machine.begun))
    assert machine.begun == machine.begun[:1] and not dense_choice._known


WORKLOAD = "workload={kind: gemm, m: 96, n: 200, k: 64}"


def test_a_run_takes_the_chosen_kernel_and_says_so(machine: Machine) -> None:
    config = load_run("layerB.yaml", [WORKLOAD, "run.engine=off", "run.verify=false"])
    job, said = make_run_job(config), io.StringIO()
    with Interrupt() as interrupt:
        records = runner.run(job, Reporter(stream=said), interrupt)
    assert records[0].kernel == "sgemm_4x4" and records[0].choice is not None
    assert "96 x 200 x 64: measuring" in said.getvalue()
    result = document(job.resolved(), records)
    assert result["choice"]["kernel"] == "sgemm_4x4" and result["choice"]["cycles"]["sgemm_4x4"] == 50_000
    assert read(result).columns[0].remarks[0].startswith("kernel for this shape: sgemm_4x4 by measurement; ")
    shown = "\n".join("".join(text for text, _ in line) for line in screen(read(result), 200))
    assert "kernel for this shape: sgemm_4x4 by measurement; " in shown
    assert "kernel for this shape: sgemm_4x4 by measurement; " in "".join(summary(read(result)).itertext())
    assert restored(plain(records)) == records


@pytest.mark.parametrize("sets", [["kernels.dense=sgemm_wide"], ["run.max_cycles=100"]])
def test_nothing_is_measured_for_a_named_kernel_or_a_look_at_the_beginning(sets: list[str], machine: Machine) -> None:
    config = load_run("layerB.yaml", [WORKLOAD, "run.engine=off", "run.verify=false", *sets])
    with Interrupt() as interrupt:
        (record,) = runner.run(make_run_job(config), Reporter(quiet=True), interrupt)
    assert record.choice is None and len(machine.begun) == 1
    if "kernels.dense=sgemm_wide" in sets:
        assert record.kernel == "sgemm_wide" == machine.begun[0]


def test_an_interrupt_while_measuring_leaves_a_partial_record(machine: Machine) -> None:
    config = load_run("layerB.yaml", [WORKLOAD, "run.engine=both", "run.verify=false"])
    with Interrupt() as interrupt:
        begin = machine.simulate

        def interrupted(*given: Any, **named: Any) -> RunFacts:
            interrupt.reason = "interrupted"
            return begin(*given, **named)

        command_processor.simulate = interrupted  # type: ignore[assignment]  # put back by the fixture
        records = runner.run(make_run_job(config), Reporter(quiet=True), interrupt)
    assert [(r.partial, r.stopped_by, r.launches) for r in records] == [(True, "interrupted", [])]
    assert document({}, records, ["dense", "sparse"])["partial"]


def test_an_unknown_name_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UserError, match=r"kernels.dense.*unknown dense kernel 'atuo'; did you mean 'auto'"):
        load_run("layerB.yaml", ["kernels.dense=atuo"])
