"""Functional contexts that launches use one after another, as a program does that launches a kernel many times."""

from collections import OrderedDict
from typing import TYPE_CHECKING

from isa.execution.executor import MAX_INSTRUCTIONS, FunctionalContext

if TYPE_CHECKING:
    from isa.launch import Launch

HELD = 32  # contexts; each of some hundred KiB


class ContextPool:
    """The contexts of the kernels that were launched last, on one device memory, for a workgroup at a time."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[int, int, int], FunctionalContext] = OrderedDict()

    def context(self, launch: "Launch", max_instructions: int = MAX_INSTRUCTIONS) -> FunctionalContext:
        """Return a context for the launch, valid until the next call; raises what FunctionalContext raises."""
        waves = launch.wavefronts_per_workgroup
        key = (id(launch.kernel), waves, launch.dynamic_lds_bytes)
        held = self._held.pop(key, None)
        if held is None or held.launch.memory is not launch.memory or held.launch.kernel is not launch.kernel:
            held = FunctionalContext(launch, waves, 1, max_instructions)
        else:
            held.compile_s = 0.0
            held.again(launch)
        self._held[key] = held
        while len(self._held) > HELD:
            self._held.popitem(last=False)
        return held
