"""Address translation: an L1 TLB beside each first-level cache, a shared L2 TLB, page walkers.

Each CU's vector L1 has an L1 TLB of its own, and the scalar and instruction caches of a shader array share one. A
look-up by tag needs the translation of its line (AMD ROCm Compute Profiler documentation, vL1D: coalescing, UTCL1, tag
look-up), which costs no extra cycle when the L1 TLB holds it: that is part of the cache's hit latency. A line in the
page of its cache's line before needs no look-up in the TLB.

Misses go to the L2 TLB (UTCL2), at most one of a page from each L1 TLB; look-ups there go round robin over the L1 TLBs
and do not wait for earlier misses, whose pages are walked for first come first served. With as many walks under way as
it has MSHRs, the L2 TLB stands still at its next miss. Nothing is translated at a launch's start.

A *user* is one that looks lines up: a vector L1 (its CU), a scalar cache, an instruction cache. `spec` and `state` say
what there is, `l1_tlb` is what the caches call, `l2_tlb` the shared one, `walks` its misses.

Why so: TLBs of each level have limits of their own, as strided kernels are bound by them. Pages that are translated
before a launch were refused: a kernel's first touches are part of its time.
"""
