"""The host's side: launches and copies in a queue, when each happens, and the processor that has them simulated.

Why so: the host takes no time but for what it waits, and what a driver costs is one value, `gpu.kernel_launch_us`. A
launch finds caches flushed unless the GPU says warm, so that its cycles do not depend on what ran before
(docs/decisions/0010).
"""
