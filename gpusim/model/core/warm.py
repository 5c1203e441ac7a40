"""Warm caches: what a launch leaves in L2 and in the TLBs for the next one on the same GPU.

Instruction caches keep theirs where the GPU says so (`gpu.instruction_cache.kept`), and nothing else keeps anything. A
launch begins with an acquire, which invalidates the L1 caches (LLVM AMDGPU guide, memory model for GFX6 to GFX9), and
the microseconds between two launches exceed the DRAM's refresh interval, so that its rows are closed and its write
queues empty. An acquire leaves translations alone, those of the L1 TLBs too: they are invalidated where page tables
change (Linux kernel, amdgpu_vm.c), which neither a launch nor a copy does. Memory that the host frees counts as still
mapped, as in a runtime's pool.
"""

from copy import deepcopy
from typing import Any

from gpusim.base.jit import Machine
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.repartition import restore_l2
from memory.cache.instruction_contents import InstructionContents
from memory.cache.l2_contents import L2Contents
from memory.l2_share import L2Share
from memory.translation.contents import TlbContents


class WarmCaches:
    """The contents of L2, TLBs and instruction caches that launches leave for one another; empty at first."""

    def __init__(self) -> None:
        self._l2 = L2Contents()
        self._tlbs = TlbContents()
        self._code = InstructionContents()
        self._arrays = 0  # whose instruction caches are kept
        self._machine: Any = None  # out of which they have not been taken yet

    def restore(self, m: Machine, gpu: GpuSpec, l2_taken: L2Share | None = None) -> None:
        """Fill the caches and TLBs of a new machine for `gpu`; those of another shape stay empty.

        l2_taken: the compaction engine's share of L2 in this launch, for which dirty lines go to DRAM first.
        """
        self._take_out()
        restore_l2(m, self._l2, gpu, l2_taken)
        self._tlbs.restore(m)
        self._arrays = gpu.shader_arrays if gpu.instruction_cache.kept else 0
        self._code.restore(m, self._arrays)

    def keep(self, m: Machine, later: bool = False) -> None:
        """Remember the caches and TLBs of a machine whose launch has ended.

        later: copy the contents when they are first needed, which for most launches never happens, and hold the machine
        until then.
        """
        self._machine = m
        if not later:
            self._take_out()

    def copied(self) -> "WarmCaches":
        """Return caches with the same contents, which a launch may find and change instead of these."""
        self._take_out()
        return deepcopy(self)

    def flush_l2(self) -> None:
        """Empty L2, whose lines something else has written back; translations stay."""
        self._take_out()
        self._l2 = L2Contents()

    def _take_out(self) -> None:
        if self._machine is not None:
            self._l2.keep(self._machine)
            self._tlbs.keep(self._machine)
            self._code.keep(self._machine, self._arrays)
            self._machine = None
