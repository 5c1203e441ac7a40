"""What a network's launches ask of the GPU, each class of them looked at once."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from gpusim.jobs.demand.launch_work import LaunchWork, launch_work
from gpusim.jobs.networks.launches import LaunchClass
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import residency
from isa.execution.emulator import run_functional
from isa.execution.faults import ExecutionFault
from workloads.operators.primitive import TensorOperator


@dataclass
class LaunchWorkCache:
    """Launches that were looked at before, by class: launches of one class ask for the same."""

    gpu: GpuSpec
    """GPU of the launches."""
    accesses: bool = True
    """Lines and bank cycles of an access are looked at too."""
    found: dict[LaunchClass, LaunchWork] = field(default_factory=dict)
    """Work by class."""

    def works(self, operator: TensorOperator, classes: Sequence[LaunchClass]) -> Iterator[LaunchWork]:
        """Yield what each launch of an operator asks for; tables that later ones read are made before."""
        new = [number for number, launch_class in enumerate(classes) if launch_class not in self.found]
        for number in operator.decisive:
            if number < max(new, default=0):
                launch = operator.launches[number]
                with suppress(ExecutionFault):  # whoever reads the table is looked at with what there is
                    run_functional(launch, residency=residency(launch, self.gpu))
        for number, launch_class in enumerate(classes):
            if launch_class not in self.found:
                self.found[launch_class] = launch_work(operator.launches[number], self.gpu, self.accesses)
            yield self.found[launch_class]
