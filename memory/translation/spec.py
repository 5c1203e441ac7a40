"""Specification of address translation: sizes, policies and latencies of the TLBs, the page walkers."""

from typing import Literal

from pydantic import model_validator

from gpusim.base.spec import Spec, param
from memory.sets.replacement import Replacement, check_replacement, replacement_param

MAX_L1_ENTRIES = 256
MAX_L1_MSHRS = 32
MAX_PORT_QUEUE = 32
MAX_L2_ENTRIES = 16384
MAX_WALKS = 256


class TranslationSpec(Spec):
    """TLBs and page walkers."""

    model: Literal["cycle", "ideal", "off"] = param(
        "cycle",
        "cycle: L1 TLBs, L2 TLB and page walkers; ideal: every miss of an L1 TLB is answered after a fixed latency; "
        "off: translation is free",
        "cycle-level by default",
    )
    page_kib: Literal[4, 64, 2048] = param(
        2048,
        "page size in KiB",
        "Linux kernel, amdgpu: fragments of 2 MiB on GFX8 (64 KiB in drm/radeon), as large as the TLBs take",
    )
    l1_entries: int = param(
        128,
        "pages an L1 TLB holds, fully associative",
        "fitted to rocBLAS's R9 Nano figures, docs/results/correlation.md: 512 x 8 x 500000 (TN) takes half as "
        "long again with 64, as MGPUSim's R9 Nano has; gem5 GPUTLBOptions: 32",
        ge=1,
        le=256,
    )
    l1_replacement: Replacement = replacement_param("gem5's and MGPUSim's TLBs: LRU")
    l1_mshrs: int = param(
        16,
        "pages an L1 TLB waits for at most, and how many pages the vector L1 looks ahead",
        "MGPUSim R9 Nano, vector TLB",
        ge=1,
        le=MAX_L1_MSHRS,
    )
    port_queue: int = param(4, "requests of an L1 TLB waiting at the L2 TLB", "assumed", ge=1, le=MAX_PORT_QUEUE)
    l2_entries: int = param(
        4096, "pages the L2 TLB holds", "gem5 GPUTLBOptions (AMD); MGPUSim R9 Nano: all of the memory's", ge=1, le=16384
    )
    l2_ways: int = param(32, "associativity of the L2 TLB", "gem5 GPUTLBOptions (AMD)", ge=1, le=256)
    l2_replacement: Replacement = replacement_param("gem5's and MGPUSim's TLBs: LRU")
    l2_lookups_per_cycle: int = param(2, "look-ups of the L2 TLB in a cycle", "gem5 GPUTLBOptions (AMD)", ge=1, le=32)
    l2_latency_cycles: int = param(
        69, "cycles from look-up in the L2 TLB to the answer at an L1 TLB", "gem5 GPUTLBOptions (AMD)", ge=1, le=500
    )
    l2_mshrs: int = param(
        64, "pages that are walked for, or wait for a walker", "gem5 GPUTLBOptions (AMD); MGPUSim R9 Nano", ge=1, le=256
    )
    walkers: int = param(
        32, "page walks at a time", "Power et al., HPCA 2014: a 32-way threaded walker for the GPU", ge=1, le=256
    )
    walk_cycles: int = param(
        250,
        "cycles of a page walk",
        "assumed: a DRAM access, upper levels cached; MGPUSim R9 Nano: 100, gem5 GPUTLBOptions (an APU's): 750",
        ge=1,
        le=100_000,
    )
    ideal_latency_cycles: int = param(
        70, "ideal model: cycles from a miss in an L1 TLB to its answer", "assumed: a hit in the L2 TLB", ge=1, le=900
    )

    @model_validator(mode="after")
    def _ways_suit_the_policies(self) -> "TranslationSpec":
        check_replacement(self.l1_replacement, self.l1_entries)
        check_replacement(self.l2_replacement, self.l2_ways)
        return self
