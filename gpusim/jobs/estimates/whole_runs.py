"""What a whole run would cost that has no like run: by its launches, or by a network's estimate."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpusim.base.sums import plain_sum
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.estimates.checked import load_checked
from gpusim.jobs.estimates.cost import Rates
from gpusim.jobs.estimates.fitted import EstimateFit, load_fitted
from gpusim.jobs.estimates.launch_work import launch_work
from gpusim.jobs.estimates.launches import LaunchDemand
from gpusim.jobs.estimates.network import estimated_cost, sampled_share
from gpusim.jobs.host.command_processor import CopyCommand, execute
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.jobs.networks.run import NetworkRunRequest, is_real
from gpusim.jobs.running.job import CommandTask, Job, JobOptions
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import occupancy, residency
from gpusim.results.store.costs import RunCost
from isa.launch import Launch
from workloads.networks.graph import Network

ByBounds = tuple[RunCost, list[str]]  # an estimate, and what to say below it
NOTE = "by bounds: the launches were looked at and counted, and nothing was simulated"
ENGINE_NOTE = "of a network with the engine, whose zeros decide, it is the estimate of its dense run"


@dataclass(frozen=True)
class RunEstimate:
    """Estimated cost of a run over all its variants."""

    cycles: float
    """Simulated cycles."""
    cpu_s: float
    """Processor seconds."""
    device_mb: float
    """Peak device memory in megabytes."""
    seconds: Mapping[LaunchClass, float] = field(default_factory=dict)
    """Processor seconds of a network by class of launches, for one variant and one repetition."""

    @property
    def cost(self) -> RunCost:
        """The same as a cost, with a process's memory by the record of shipped runs."""
        return RunCost(self.cpu_s, self.cycles, load_checked().memory_mb(self.device_mb))

    def beside(self, other: "RunEstimate") -> "RunEstimate":
        """Return what both take, one after the other."""
        most = max(self.device_mb, other.device_mb)
        return RunEstimate(self.cycles + other.cycles, self.cpu_s + other.cpu_s, most)


def estimated_job(job: Job) -> RunEstimate | None:
    """Estimate a job whose variants are lists of launches and copies; None for any other kind.

    Operands are laid into memory as for a run, and launches that fill what later ones are decided by are executed
    without timing. Of a kernel that is chosen by measuring the likeliest counts. Raises UserError as preparing a run
    does.
    """
    fitted, found = load_fitted(), RunEstimate(0.0, 0.0, 0.0)
    rates = fitted.rates.here()
    for variant in job.variants:
        task = variant.prepare()
        if not isinstance(task, CommandTask):
            return None
        found = found.beside(_variant(task, job.gpu, job.options, fitted, rates))
    return replace(found, cpu_s=found.cpu_s * job.options.draws)


def estimated_network(network: Network, settings: NetworkSettings, wanted: NetworkRunRequest) -> RunEstimate:
    """Estimate a network's run; with the engine each variant as the dense one (ENGINE_NOTE). Raises UserError."""
    variants = 2 if wanted.engine == "both" or wanted.gains else 1
    found, cost = estimated_cost(network, settings, replace(wanted, engine="off"))
    # of made-up values no more memory is touched than launches do, one after another
    touched = max((one.asked.read_bytes + one.asked.written_bytes for one in found.placed), default=0.0)
    device_bytes = max(found.planned.live_bytes) if is_real(wanted, found.planned) else touched
    seconds = found.seconds(found.fitted.rates.here())
    return RunEstimate(variants * found.cycles, variants * wanted.draws * cost.cpu_s, device_bytes / 1e6, seconds)


def estimate_job_by_bounds(job: Job) -> ByBounds:
    """Estimate a job that is launches and copies, and say how far off such estimates were. Raises UserError."""
    found = estimated_job(job)
    assert found is not None, f"{job.kind}: is no list of launches"
    return found.cost, [NOTE, *load_checked().notes()]


def estimate_network_by_bounds(network: Network, settings: NetworkSettings, wanted: NetworkRunRequest) -> ByBounds:
    """Estimate a network's run, and say how far off such estimates were. Raises UserError."""
    found = estimated_network(network, settings, wanted)
    notes = [NOTE] if wanted.engine == "off" else [NOTE, ENGINE_NOTE]
    return found.cost, [*notes, *load_checked().notes()]


def _variant(task: CommandTask, gpu: GpuSpec, options: JobOptions, fitted: EstimateFit, rates: Rates) -> RunEstimate:
    cycles, cpu_s, device_bytes = [0.0], [0.0], 0
    looked: dict[int, LaunchDemand] = {}
    for command in task.commands:
        if isinstance(command, CopyCommand):
            command.move()
            continue
        launch = command.launch
        if id(launch) not in looked:
            looked[id(launch)] = _asked(launch, gpu)
        asked = looked[id(launch)]
        device_bytes = max(device_bytes, sum(one.size_bytes for one in launch.memory.allocations))
        if command.decisive:
            execute(launch, residency=residency(launch, gpu))
        if not options.timing:
            cpu_s.append(asked.work.instructions / rates.executed_per_s)
            continue
        one = fitted.correction.cycles(asked, launch.kernel.name, command.machine(gpu)).cycles
        limit = options.launches.max_cycles
        share = min(1.0, limit / one) if limit else 1.0
        if options.launches.sampling is not None:
            share = sampled_share(asked, gpu, rates)
        cycles.append(min(one, limit) if limit else one)
        cpu_s.append(rates.seconds(asked, share))
    return RunEstimate(plain_sum(cycles), plain_sum(cpu_s), device_bytes / 1e6)


def _asked(launch: Launch, gpu: GpuSpec) -> LaunchDemand:
    """Look at a launch; each array that it is given, from its pointer on, may be read and written."""
    given = {address: held.end - address for address in launch.pointers if (held := launch.memory.at(address))}
    size = float(sum(given.values()))
    return LaunchDemand(launch_work(launch, gpu), size, size, occupancy(launch, gpu.cu).workgroups_per_cu)
