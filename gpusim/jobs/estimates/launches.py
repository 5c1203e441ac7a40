"""The launches of a network's iteration, each with what it asks of the GPU; nothing is simulated."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.demand.launch_work import CODE_BYTES, LaunchWork
from gpusim.jobs.networks.execution import estimate_launch_instructions
from gpusim.jobs.networks.launch_works import LaunchWorkCache
from gpusim.jobs.networks.launches import LaunchClass, classify_synthetic_launches
from gpusim.jobs.networks.run import planned_iteration, selected_layers
from gpusim.jobs.networks.storage import Storage
from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.occupancy import occupancy
from workloads.networks.graph import Network
from workloads.networks.kind import Pass
from workloads.networks.memory import MemoryPlan
from workloads.operators.primitive import TensorOperator


@dataclass(frozen=True)
class LaunchDemand:
    """Demand of a launch on a GPU."""

    work: LaunchWork
    """Work of the launch."""
    read_bytes: float
    """Bytes of the arrays, or parts of them, that are read."""
    written_bytes: float
    """Bytes of the arrays, or parts of them, that are written."""
    resident: int
    """Workgroups that a compute unit can hold."""


@dataclass(frozen=True)
class NetworkLaunch:
    """A launch within its network."""

    layer: str
    """Name of the layer."""
    what: Pass
    """Pass of the layer."""
    operator: str
    """Name of the operator that contains the launch."""
    one: LaunchClass
    """Class of the launch."""
    asked: LaunchDemand
    """Demand of the launch."""
    share: float
    """Its estimated part of the iteration's time, as sampling of networks has it."""

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return self.one.kernel


def placed_launches(
    network: Network,
    settings: NetworkSettings,
    batch: int,
    train: bool,
    layers: str | frozenset[str] | None = None,
    chosen: Mapping[tuple[str, Pass], str] | None = None,
    looked: LaunchWorkCache | None = None,
) -> tuple[MemoryPlan, list[NetworkLaunch]]:
    """Return the memory plan of an iteration without engine, and its launches in order.

    Args:
        network: The network.
        settings: Settings of a network's run.
        batch: Images in a batch.
        train: Train; False: forward alone.
        layers: As in `gpusim.jobs.networks.run.NetworkRunRequest`.
        chosen: Algorithms by layer and pass.
        looked: Estimates of launches that are known already.

    Raises:
        UserError: The memory does not hold the iteration.
    """
    planned, iteration = planned_iteration(network, settings, batch, train, chosen)
    storage, selected = Storage.allocate(planned, settings.gpu, CODE_BYTES), selected_layers(network, layers)
    looked = looked or LaunchWorkCache(settings.gpu)
    launches = []
    for step in planned.schedule.steps:
        if selected is not None and step.layer not in selected:
            continue
        operators = storage.operators(step, gpu_facts(settings.gpu), iteration)
        launch_count = sum(len(operator.launches) for operator in operators)
        share = estimate_launch_instructions([operator.primitive.work for operator in operators], launch_count)
        for operator in operators:
            past = settings.bypasses_l1(step.layer, step.what)
            classes = classify_synthetic_launches([operator], l1_bypass=past)
            works, moved = looked.works(operator, classes), moved_bytes(operator)
            for number, (work, launch) in enumerate(zip(works, operator.launches, strict=True)):
                fit = occupancy(launch, settings.gpu.cu).workgroups_per_cu
                if past:
                    work = replace(work, missed_lines=work.load_lines)
                asked = LaunchDemand(work, *moved[number], fit)
                launches.append(
                    NetworkLaunch(
                        layer=step.layer,
                        what=step.what,
                        operator=operator.name,
                        one=classes[number],
                        asked=asked,
                        share=share,
                    )
                )
    return planned, launches


def moved_bytes(operator: TensorOperator) -> list[tuple[float, float]]:
    """Return the bytes that each launch of an operator reads and writes: the arrays that its pointers point into.

    From a pointer to the next higher one of any launch of the operator, or to the array's end: launches that take an
    array by chunks have one each. What launches leave for later ones is written by the first that has it.
    """
    primitive = operator.primitive
    pointers = [set(launch.pointers) for launch in operator.launches]
    arrays = [(name, tensor.address, tensor.address + tensor.size_bytes) for name, tensor in operator.tensors.items()]
    ends = dict(pairwise(sorted(set().union(*pointers))))
    seen, moved = set[int](), list[tuple[float, float]]()
    for addresses in pointers:
        read = written = 0.0
        for address in addresses:
            for name, begin, end in arrays:
                if not begin <= address < end:
                    continue
                size = min(ends.get(address, end), end) - address
                first = name in primitive.workspace and address not in seen
                if name in primitive.gives or first:
                    written += size
                if name in primitive.takes or (name in primitive.workspace and not first):
                    read += size
        seen |= addresses
        moved.append((read, written))
    return moved
