"""Sampling: what a launch that was simulated in part is estimated to have cost, and how far off that may be.

In reading order: `spec` (what a user asks for), `grid` (which workgroups are passed over), `steady` (whether windows
have settled), `batches` and `student` (the error of a mean of windows that follow one another), `estimate` (counts of
the skipped part, with replicates). Nothing here knows the machine: `gpusim.core.sampler` reads its counters and moves
its dispatcher.
"""
