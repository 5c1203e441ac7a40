"""HIP and OpenCL programs on the simulated GPU: gpusim's own runtime library in the program, the simulator beside it.

The program is unmodified: it is started with `shim/` as its libamdhip64.so (built.py builds it, functions.txt lists
what it exports). Device memory is one memory file that program and simulator map at the same addresses (image.py), so
that a device pointer is a pointer of the program's too and a copy costs no traffic; all else are messages over a socket
that each process makes and hands over (protocol.py). `shim/comgr.cpp` is a library beside it, AMD's code object
manager, whose actions compilers do (translation.py, comgr.txt); `shim/opencl_*.cpp` is OpenCL's interface over the same
memory, modules and streams, in the same library (opencl.txt: in the order of its loaders' table). Reading order:
protocol.py, shim/connection.cpp, session.py (what a message does), code.py and launching.py (code and launches),
`gpusim.jobs.host.queue` says when a launch would happen, supervisor.py (the program's process), report.py (what is said
at the end).

Why so: a model of the device that AMD's driver talks to was refused, as it needs queues, page tables, interrupts and
AMD's stack on the user's machine. A function that is missing says its name once and returns hipErrorNotSupported
(docs/decisions/0008).
"""
