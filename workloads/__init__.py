"""What is run on the simulated GPU: kernels with their code objects, operators, data, and how kernels are built.

`operators` turns a layer into launches and checks the result, `data` makes or reads operands, `toolchain` builds code
objects. `kernels/`, `microbench/` and `bench_kernels/` hold sources beside the code objects that are shipped;
`activations/` holds activations of trained networks. Nothing here knows how a launch is timed.
"""
