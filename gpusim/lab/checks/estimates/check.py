"""Estimates held to runs: shipped runs and networks, each estimated by bounds alone and then simulated in whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from gpusim.base.children import ProcessPool
from gpusim.base.errors import GpusimError
from gpusim.base.interrupt import Interrupt
from gpusim.base.processors import processor_name
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.base.version import __version__
from gpusim.config.exec import EXAMPLE_FOLDER, load_exec
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import load_network
from gpusim.config.network_run import load_settings
from gpusim.config.run import load_run
from gpusim.jobs.estimates.checked import CheckedRun, EstimateValidation, fit_memory
from gpusim.jobs.estimates.run_costs import estimate_job
from gpusim.jobs.exec import ExecJob
from gpusim.jobs.kinds import make_run_job
from gpusim.jobs.networks.job import NetworkJob
from gpusim.jobs.networks.run import NetworkRunRequest
from gpusim.jobs.running import runner
from gpusim.jobs.running.job import Job
from gpusim.model.core.prepare import prepare_core
from gpusim.results import metrics

CYCLES, CPU, MEMORY = "kernel.cycles", "simulator.cpu_s", "simulator.peak_memory_mb"


@dataclass(frozen=True)
class CheckedCase:
    """A shipped run that is both estimated and simulated."""

    name: str
    """Name of the shipped configuration."""
    sets: tuple[str, ...] = ()
    """Values of `--set`."""
    command: ClassVar[str] = "run"
    """Name of the command."""

    @property
    def what(self) -> str:
        """The command that makes it."""
        return " ".join([self.command, self.name, *self.options()])

    def options(self) -> list[str]:
        """Return the command's options."""
        return [f"--set {text}" for text in self.sets]

    def job(self) -> Job:
        """Make the job."""
        return make_run_job(load_run(opened(self.name), [*self.sets, "run.verify=false"]))


@dataclass(frozen=True)
class CheckedKernel(CheckedCase):
    """A shipped kernel that is both estimated and simulated."""

    command = "exec"

    def job(self) -> Job:
        """Make the job."""
        config, path = load_exec(opened(self.name, EXAMPLE_FOLDER), self.sets)
        return ExecJob(config, path, Reporter(quiet=True))


@dataclass(frozen=True)
class CheckedNetwork(CheckedCase):
    """A shipped network that is both estimated and simulated."""

    gpu: str = "mi6"
    """GPU of the run."""
    train: bool = False
    """Train the network; otherwise inference."""
    command = "net"

    def options(self) -> list[str]:
        """Return the command's options."""
        return [*super().options(), f"--gpu {self.gpu}", *(["--phase train"] if self.train else [])]

    def job(self) -> Job:
        """Make the job."""
        network, settings = load_network(self.name), load_settings(opened(self.gpu, GPU_FOLDER), self.sets)
        return NetworkJob(network, settings, NetworkRunRequest(1, self.train, data="synthetic", verify=False))


def _runs() -> Iterator[CheckedCase]:
    for layer in ("layerC", "layerB", "layerA"):
        for engine in ("off", "on"):
            yield CheckedCase(layer, (f"run.engine={engine}",))
    for sparse in ("sgemm_dib_registers", "software", "csc"):
        yield CheckedCase("layerC", ("run.engine=on", f"kernels.sparse={sparse}"))
    yield CheckedCase("layerC", ("run.engine=off", "kernels.dense=mmm_local"))
    yield CheckedCase("layerC", ("run.engine=off", "workload.batch=4"))
    for engine in ("off", "on"):
        yield CheckedCase("layerC", (f"run.engine={engine}", "gpu=r9nano"))
    yield CheckedKernel("vector_add")
    yield CheckedNetwork("lenet")
    yield CheckedNetwork("lenet", train=True)
    yield CheckedNetwork("cifarnet", gpu="r9nano")


CASES = tuple(_runs())


def measured(case: CheckedCase) -> CheckedRun:
    """Estimate a case, and run it in this process, which should do nothing else: its memory is measured."""
    estimate = estimate_job(case.job())
    estimated = {"cycles": estimate.cycles, "cpu_s": estimate.cpu_s, "memory_mb": 0.0}
    job = case.job()  # another one: estimating has read the operands of the first
    records = runner.run(job, Reporter(quiet=True), Interrupt())
    trees = [dict(metrics.leaves(metrics.to_tree(record))) for record in records]
    taken = {
        "cycles": plain_sum(tree[CYCLES] for tree in trees),
        "cpu_s": plain_sum(tree[CPU] for tree in trees),
        "memory_mb": max(tree[MEMORY] for tree in trees),
    }
    return CheckedRun(case.what, any(v.uses_engine for v in job.variants), estimate.device_mb, estimated, taken)


def check(cases: Sequence[CheckedCase], reporter: Reporter) -> EstimateValidation:
    """Estimate and run the cases, one after another, each in a process of its own; raises what a run raises.

    Args:
        cases: Cases to run.
        reporter: Where progress goes.
    """
    prepare_core()
    runs: list[CheckedRun] = []
    for case in cases:
        children = ProcessPool(1, nested=True)
        try:
            children.start(case.what, lambda case=case: measured(case))  # type: ignore[misc]
            while children.running:
                runs += [result for _, result in children.finished()]
        except GpusimError as error:
            raise type(error)(f"{case.what}: {error}") from None
        finally:
            children.stop()
        reporter.say(f"{len(runs)}/{len(cases)} runs: {case.what}")
    base, per_device = fit_memory([(run.device_mb, run.taken["memory_mb"]) for run in runs])
    record = EstimateValidation(__version__, processor_name(), base, per_device, ())
    told = [
        replace(run, estimated={**run.estimated, "memory_mb": record.memory_mb(run.device_mb)}) for run in runs
    ]  # fmt: skip
    return replace(record, runs=told)
