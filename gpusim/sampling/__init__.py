"""Sampling: what a launch that was simulated in part is estimated to have cost, and how far off that may be.

In reading order: `spec` (what a user asks for), `sampler` (when a machine is looked at, and when its dispatcher jumps),
`independence` (whether a kernel's workgroups can be passed over), `grid` (which of them are), `steady` (whether windows
have settled), `batches` and `student` (the error of a mean of windows that follow one another), `estimate` (counts of
the skipped part, with replicates). What a sampled launch's facts carry is `gpusim.core.sampled`.
"""
