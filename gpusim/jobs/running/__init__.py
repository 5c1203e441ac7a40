"""What all jobs have in common: variants and tasks, the one path that they take, and how kernels are chosen.

Read `job` first, then `runner`; `operators` makes launches of operators, `choice` decides among kernels (`dense_choice`
of a matrix product), `script` runs a job for a script.

Why so: there is one path for all jobs, since interrupts, limits, progress and records have to behave alike. A kernel is
chosen by simulating candidates whose estimates overlap, and by estimates alone where nothing can be measured.
"""
