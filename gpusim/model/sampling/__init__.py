"""Sampling: what a launch that was simulated in part is estimated to have cost, and how far off that may be.

In reading order: `spec` (what a user asks for), `sampler` (when a machine is looked at, and when its dispatcher skips),
`independence` (whether a kernel's workgroups can be passed over), `decision` (whether intervals are enough, and what
follows them), `grid` (which workgroups are passed over), `covariates` (what work and addresses of the skipped part
make of the intervals), `estimate` (counts of the skipped part, with replicates),
`noise` and `student` (how far they are off by chance). What a sampled launch's facts carry is
`gpusim.model.core.sampled`.

Why so: the machine is measured in intervals of its time and skipped work is estimated as cost per instruction. Rates by
workgroups that ended were refused, since they end in bursts: a short product's fell by 30 % over 16 waves. So was
extrapolating from smaller launches, which has no error of its own (docs/decisions/0005 and 0012).
"""
