"""Operators in runs: what they know of a GPU, and the tasks that they become."""

from collections.abc import Mapping, Sequence

from gpusim.jobs.host.command_processor import HostCommand, LaunchCommand
from gpusim.jobs.running.job import CommandTask
from gpusim.model.core.gpu_spec import GpuSpec
from isa.execution.executor import MAX_INSTRUCTIONS
from isa.launch import Launch
from workloads.operators.operator import GpuFacts, Operator, before
from workloads.operators.verify import Verification, verify


def gpu_facts(gpu: GpuSpec) -> GpuFacts:
    """Return the facts about a GPU on which operators depend."""
    return GpuFacts(gpu.cus, gpu.cu.lds_kib * 1024)


def launch_commands(operator: Operator) -> list[LaunchCommand]:
    """Return the commands that run an operator's launches, one after another."""
    return [operator_command(launch, number in operator.decisive) for number, launch in enumerate(operator.launches)]


def operator_command(launch: Launch, decisive: bool, l1_bypass: bool | None = None) -> LaunchCommand:
    """Return the command that runs a launch of an operator. Its kernels end: the limit for a user's does not hold.

    Args:
        launch: The launch.
        decisive: Its results decide the time of later launches.
        l1_bypass: Its loads bypass L1; None: as `gpu.l1.bypass` says.
    """
    return LaunchCommand(launch, max_instructions=MAX_INSTRUCTIONS, decisive=decisive, l1_bypass=l1_bypass)


class OperatorTask(CommandTask):
    """An operator's launches, checked against its reference."""

    def __init__(self, operator: Operator, counts: Mapping[str, float] | None = None) -> None:
        self._operator, self._counts, self._inputs = operator, counts or {}, before(operator)

    @property
    def commands(self) -> Sequence[HostCommand]:
        """Return the launches; the operands are in device memory already, as in a network between its other
        operators.
        """
        return launch_commands(self._operator)

    def counts(self) -> Mapping[str, float]:
        return self._counts

    def verify(self) -> Verification:
        return verify(self._operator, self._inputs)
