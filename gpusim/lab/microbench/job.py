"""Microbenchmarks as a job: what is measured is their figures and curves; a row is a group of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from gpusim.base.errors import UserError, unknown_name
from gpusim.jobs.running.job import Context, FunctionTask, Job, JobOptions, Variant
from gpusim.lab.microbench import (
    accesses,
    atomics,
    bandwidth,
    front_end,
    issue,
    latency,
    lattice,
    lds,
    mapping,
    occupancy,
)
from gpusim.lab.microbench.bench import Bench, Curve, MicrobenchReading, MicrobenchResults
from gpusim.lab.microbench.views import serialize_results, show
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.energy.spec import EnergySpec
from gpusim.results.records.record import PartLaunch, PartRecord, RunRecord
from gpusim.results.store.work import RunDescription

GROUPS: dict[str, Callable[[Bench, MicrobenchResults], None]] = {
    "latency": latency.measure,
    "bandwidth": bandwidth.measure,
    "lds": lds.measure,
    "issue": issue.measure,
    "front_end": front_end.measure,
    "accesses": accesses.measure,
    "occupancy": occupancy.measure,
    "atomics": atomics.measure,
    "mapping": mapping.measure,
    "lattice": lattice.measure,
}


def select_groups(names: Sequence[str]) -> list[str]:
    """Return the groups named, in their order; all of them if none is. Names may be joined by commas."""
    asked = [part for name in names for part in name.split(",") if part]
    for name in asked:
        if name not in GROUPS:
            raise UserError(f"--only: {unknown_name('microbenchmark', name, GROUPS)}")
    return [name for name in GROUPS if name in asked or not asked]


class MicrobenchJob(Job):
    """Groups of microbenchmarks on a GPU (gpusim.jobs.running.job.Job). names: of the groups, in the suite's order."""

    kind = "microbench"
    energy_spec = EnergySpec(enabled=False)
    options = JobOptions(verify=False)

    def __init__(self, gpu: GpuSpec, names: Sequence[str]) -> None:
        self.gpu, self.names, self.title = gpu, names, ", ".join(names)

    @property
    def variants(self) -> Sequence[Variant]:
        """The one variant that there is."""
        return [Variant("", False, lambda: FunctionTask(self._run))]

    def resolved(self) -> dict[str, Any]:
        """Return the GPU and which groups are measured."""
        return {"gpu": self.gpu.model_dump(mode="json"), "only": list(self.names)}

    @property
    def work(self) -> RunDescription:
        """What a store knows equal measurements by."""
        return RunDescription("microbench", self.title, self.resolved(), (), self.gpu.name)

    def _run(self, context: Context, record: RunRecord) -> None:
        """Measure; after an interrupt the record has the groups that were finished."""
        bench, results = Bench(self.gpu, context.reporter, context.stopped), MicrobenchResults()
        for name in self.names:
            measured = MicrobenchResults()
            try:
                GROUPS[name](bench, measured)
            except KeyboardInterrupt:
                record.partial = True
                break
            results = MicrobenchResults([*results.figures, *measured.figures], [*results.curves, *measured.curves])
            facts, count = bench.taken()
            launches = [PartLaunch(name)] * count
            record.parts.append(PartRecord(name, launches=launches, facts=facts))
        record.launch_count = sum(len(part.launches) for part in record.parts)
        record.values = serialize_results(results, self.gpu.architecture)


def measured_again(document: Mapping[str, Any]) -> MicrobenchResults:
    """Read the figures and curves of a JSON object."""
    figures = [
        MicrobenchReading(**{name: one[name] for name in MicrobenchReading.__dataclass_fields__})
        for one in document["figures"]
    ]
    curves = [Curve(**{**one, "points": tuple(map(tuple, one["points"]))}) for one in document["curves"]]
    return MicrobenchResults(figures, curves)


def show_stored(document: Mapping[str, Any], stream: TextIO) -> None:
    """Print a stored result of microbenchmarks as the command does."""
    gpu = document["config"]["gpu"]
    show(measured_again(document), gpu["name"], gpu.get("architecture", "gfx803"), stream)
