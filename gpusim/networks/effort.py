"""What an iteration will cost to simulate, from the geometry of its launches: nothing is run."""

from math import prod

from gpusim.base.sums import plain_sum
from gpusim.config.network_run import NetworkSettings
from gpusim.core.occupancy import occupancy
from gpusim.networks.binding import Iteration
from gpusim.networks.execution import StepResult
from gpusim.networks.launches import launch_class
from gpusim.networks.run import Wanted, schedule_of
from gpusim.networks.storage import Storage, check_room, network_plan
from gpusim.running.operators import gpu_facts
from workloads.networks.graph import Network
from workloads.networks.memory import MemoryPlan

SAMPLED_ROUNDS = 6  # rounds of resident workgroups that are simulated of a sampled launch, about


def expected_instructions(network: Network, settings: NetworkSettings, wanted: Wanted) -> float:
    """Estimate the wavefront instructions that are simulated for an iteration over made-up data, dense.

    Equal launches count once, a sampled one as far as SAMPLED_ROUNDS go. Raise UserError where the GPU's memory does
    not hold the iteration, which says what batch it would hold.
    """
    iteration = Iteration.under(settings)

    def with_batch(batch: int) -> MemoryPlan:
        return network_plan(schedule_of(network, settings, batch, wanted.train), iteration)

    planned = with_batch(wanted.batch)
    check_room(planned, settings.gpu, with_batch)
    storage, seen, found = Storage.laid_out(planned), set(), [0.0]
    for step in planned.schedule.steps:
        operators = storage.operators(step, gpu_facts(settings.gpu), iteration)
        classes = tuple(launch_class(launch, "", transferable=True) for o in operators for launch in o.launches)
        of_launch = StepResult(step, (), tuple(o.primitive.work for o in operators), classes).of_launch
        launches = [launch for operator in operators for launch in operator.launches]
        for one, launch in zip(classes, launches, strict=True):
            if one in seen:
                continue
            seen.add(one)
            at_a_time = settings.gpu.cus * occupancy(launch, settings.gpu.cu).workgroups_per_cu
            part = min(1.0, SAMPLED_ROUNDS * at_a_time / prod(launch.workgroups))
            found.append(of_launch * (part if settings.sampling is not None else 1.0))
    return float(plain_sum(found))
