"""What is run on the simulated GPU: kernels with their code objects, operators, data, and how kernels are built.

`shapes` says how large layers and products are, `networks` what a network's layers are and in which steps they run,
`data` makes or reads operands, `operators` turns them into launches and says what must come out, `toolchain` builds
code objects. `kernels/`, `microbench/` and `bench_kernels/` hold
sources beside the code objects that are shipped; `activations/` holds activations of trained networks. Nothing here
knows how a launch is timed.

Why so: what is run is separate from how long it takes, so every operator has a reference that no timing can change.
"""
