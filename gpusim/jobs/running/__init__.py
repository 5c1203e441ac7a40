"""What all jobs have in common: variants and tasks, the one path that they take, and how kernels are chosen.

Read `job` first, then `runner`; `operators` makes launches of operators, `choice` decides among kernels (`dense_choice`
of a matrix product), `script` runs a job for a script.
"""
