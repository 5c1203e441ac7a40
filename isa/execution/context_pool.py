"""Functional contexts that launches use one after another, as a program does that launches a kernel many times."""

from collections import OrderedDict
from typing import TYPE_CHECKING

from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext
from isa.launch import Residency

if TYPE_CHECKING:
    from isa.launch import Launch

HELD = 32  # contexts; each of some hundred KiB


class ContextPool:
    """The contexts of the kernels that were launched last, on one device memory, for one slice at a time."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[int, int, Residency], FunctionalContext] = OrderedDict()

    def context(
        self, launch: "Launch", residency: Residency, max_instructions: int = MAX_INSTRUCTIONS
    ) -> FunctionalContext:
        """Return a context for the launch, valid until the next call; raises what FunctionalContext raises."""
        key = (id(launch.kernel), launch.dynamic_lds_bytes, residency)
        context = self._held.pop(key, None)
        if context is None or context.launch.memory is not launch.memory or context.launch.kernel is not launch.kernel:
            if context is not None:
                context.close()
            context = FunctionalContext(
                launch,
                residency.wavefront_slots,
                residency.workgroup_slots,
                max_instructions,
                shared_trace=True,
                workgroups=residency.workgroups,
            )
        else:
            context.compile_s = 0.0
            context.again(launch)
        self._held[key] = context
        while len(self._held) > HELD:
            self._held.popitem(last=False)[1].close()
        return context
