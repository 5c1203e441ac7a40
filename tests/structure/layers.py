"""The layers: which room may import which.

Rooms stand in order, the ground floor first. A room may import only what its row names, and a row may name only rooms
that stand before it, so that no two rooms can come to need one another. A new room has to be entered here; what it
holds is the first line of its package's docstring. `docs/architecture.md` is drawn from this table and the imports.
"""

_TOOLS = ("gpusim.base", "gpusim.jit")
_KERNEL = ("isa.object", "isa", "isa.encoding")  # what a kernel, a launch and an instruction are
_PATH = (
    "memory.network",
    "memory.sets",
    "memory.translation",
    "memory.dram",
    "memory.cache",
)  # a load's way down and back
_MACHINE = (
    *_TOOLS,
    *_KERNEL,
    "isa.opcodes",
    "isa.execution",
    "memory",
    *_PATH,
    "spartan",
    "gpusim.core.cu",
    "gpusim.core",
)

LAYERS: dict[str, tuple[str, ...]] = {
    "gpusim.base": (),
    "gpusim.jit": ("gpusim.base",),
    # what a kernel is and what it computes
    "isa.object": ("gpusim.base",),
    "isa": ("gpusim.base", "isa.object"),
    "isa.lanes": (*_TOOLS, "isa"),
    "isa.semantics": ("isa.lanes",),
    "isa.opcodes": ("gpusim.base",),
    "isa.encoding": (*_TOOLS, "isa.object", "isa", "isa.opcodes"),
    "isa.execution": (*_TOOLS, *_KERNEL, "isa.opcodes", "isa.lanes"),
    # the machine's parts
    "memory": (*_TOOLS, "isa"),
    "memory.network": (*_TOOLS, "isa", "memory"),
    "memory.sets": _TOOLS,
    "memory.translation": (*_TOOLS, "isa", "memory", "memory.network", "memory.sets"),
    "memory.dram.standards": ("gpusim.base",),
    "memory.dram": (*_TOOLS, "isa", "memory", "memory.dram.standards"),
    "memory.cache": (*_TOOLS, "isa", "memory", *_PATH[:-1]),
    "spartan": (*_TOOLS, "isa", "memory", "memory.dram"),
    "gpusim.core.cu": (*_TOOLS, "isa", "isa.opcodes", "isa.encoding", "memory", "memory.network", "memory.cache"),
    "gpusim.core": _MACHINE[:-1],
    "gpusim.sampling": ("gpusim.base", "isa.encoding", "gpusim.core.cu", "gpusim.core"),
    # what it runs
    "workloads": (),
    "workloads.toolchain": ("gpusim.base",),
    "workloads.data": ("gpusim.base", "workloads"),
    "workloads.monitor": ("gpusim.base", "workloads.data"),
    "workloads.networks": ("gpusim.base", "workloads"),
    "workloads.operators": (
        *("gpusim.base", "isa.object", "isa", "memory", "memory.dram", "spartan"),
        *("workloads", "workloads.toolchain", "workloads.data"),
    ),
    "workloads.vendor": ("gpusim.base", "isa.object", "isa", "isa.encoding"),
    # the user's side
    "gpusim.energy": ("gpusim.base", "isa", "memory.dram", "spartan", "gpusim.core"),
    "gpusim.config": (
        "gpusim.base",
        "isa",
        "memory.dram.standards",
        "memory.dram",
        "spartan",
        "gpusim.core",
        "gpusim.sampling",
        "gpusim.energy",
        "workloads",
        "workloads.data",
        "workloads.networks",
        "workloads.operators",
        "workloads.vendor",
    ),
    "gpusim.results": (
        *("gpusim.base", "memory", *_PATH, "spartan", "gpusim.core.cu", "gpusim.core", "gpusim.energy"),
    ),
    "gpusim.results.metrics": ("gpusim.base", "gpusim.core", "gpusim.energy", "gpusim.results"),
    "gpusim.report": (
        *("gpusim.base", "isa.object", "isa", "isa.execution", "spartan"),
        *("gpusim.core", "gpusim.results", "gpusim.results.metrics"),
    ),
    "gpusim.report.page": ("gpusim.base", "gpusim.results.metrics", "gpusim.report"),
    "gpusim.live": (
        *("gpusim.base", "memory", "memory.dram", "gpusim.core.cu", "gpusim.core"),
        "gpusim.report.page",
    ),
    "gpusim.store": (
        *("gpusim.base", "isa.object", "isa.execution", "gpusim.core", "gpusim.energy"),
        *("gpusim.config", "gpusim.results", "gpusim.results.metrics", "gpusim.report"),
    ),
    "gpusim.compare": (*("gpusim.base", "gpusim.store", "gpusim.results", "gpusim.results.metrics", "gpusim.report"),),
    "gpusim.timeline": (*_TOOLS, "isa", "isa.encoding", "memory", *_PATH, "spartan", "gpusim.core.cu", "gpusim.core"),
    "gpusim.host": (*_TOOLS, "isa", "isa.execution", "spartan", "gpusim.core", "gpusim.sampling", "gpusim.results"),
    "gpusim.api": (
        # workloads.operators: a copy within device memory is an operator, imported when there is one
        *(*_TOOLS, *_KERNEL, "isa.execution", "gpusim.core", "workloads.operators"),
        *(
            "gpusim.sampling",
            "gpusim.config",
            "gpusim.results",
            "gpusim.results.metrics",
            "gpusim.report",
            "gpusim.report.page",
            "gpusim.timeline",
            "gpusim.host",
        ),
    ),
    "gpusim.hip": (
        *("gpusim.base", "gpusim.jit", "isa.object", "isa", "isa.execution", "memory.dram.standards"),
        *("gpusim.core.cu", "gpusim.core", "gpusim.sampling", "workloads.toolchain"),
        *("gpusim.results", "gpusim.results.metrics", "gpusim.report", "gpusim.host"),
    ),
    "gpusim.jobs": (
        *("gpusim.base", "isa.object", "isa", "isa.execution", "spartan", "gpusim.core", "gpusim.energy"),
        *("workloads", "workloads.data", "workloads.operators", "workloads.vendor", "gpusim.config"),
        *("gpusim.sampling", "gpusim.results", "gpusim.report", "gpusim.report.page", "gpusim.host", "gpusim.api"),
        "gpusim.hip",
    ),
    "gpusim.networks": (
        *("gpusim.base", "gpusim.jit", "isa", "spartan", "gpusim.core", "workloads", "workloads.networks"),
        *("workloads.operators", "gpusim.config", "gpusim.results", "gpusim.results.metrics"),
        *("gpusim.sampling", "gpusim.store", "gpusim.report", "gpusim.report.page"),
        *("gpusim.host", "gpusim.api", "gpusim.jobs"),
    ),
    "gpusim.sweep": (
        *("gpusim.base", "gpusim.core", "workloads.networks", "gpusim.config", "gpusim.results", "gpusim.store"),
        "gpusim.results.metrics",
        *("gpusim.jobs", "gpusim.networks"),
    ),
    "gpusim.reproduce": (
        *("gpusim.base", "workloads", "workloads.vendor", "gpusim.config", "gpusim.store", "gpusim.compare"),
        *("gpusim.results", "gpusim.results.metrics", "gpusim.report", "gpusim.jobs", "gpusim.sweep"),
    ),
    "gpusim.reproduce.kinds": (
        *("gpusim.base", "workloads.monitor", "gpusim.energy", "gpusim.config", "gpusim.reproduce"),
    ),
    "gpusim.reproduce.page": ("gpusim.base", "gpusim.config", "gpusim.reproduce", "gpusim.reproduce.kinds"),
    "gpusim.correlation": (
        *("gpusim.base", "isa.object", "isa", "gpusim.core", "workloads.vendor"),
        *("gpusim.config", "gpusim.results", "gpusim.host"),
    ),
    "gpusim.microbench": (
        *("gpusim.base", "isa.object", "isa", "gpusim.core.cu", "gpusim.core", "workloads.toolchain"),
        "gpusim.store",
    ),
    "gpusim.bench": (
        *(*_TOOLS, "isa.object", "isa", "isa.execution", "gpusim.core"),
        *("workloads.toolchain", "workloads.operators", "gpusim.config", "gpusim.jobs"),
    ),
    "gpusim.sampling_check": (
        *("gpusim.base", *_KERNEL, "isa.execution", "spartan", "gpusim.core", "gpusim.sampling", "workloads.operators"),
        *(
            "gpusim.config",
            "gpusim.store",
            "gpusim.results",
            "gpusim.results.metrics",
            "gpusim.jobs",
            "gpusim.networks",
            "gpusim.bench",
        ),
    ),
    "gpusim.cli": (
        *(*_MACHINE, "workloads.toolchain", "workloads.data", "workloads.monitor", "workloads.networks"),
        *(
            "workloads.operators",
            "gpusim.config",
            "gpusim.results",
            "gpusim.results.metrics",
            "gpusim.store",
            "gpusim.compare",
            "gpusim.sweep",
            "gpusim.reproduce",
            "gpusim.reproduce.page",
            "gpusim.report",
            "gpusim.report.page",
            "gpusim.live",
            "gpusim.timeline",
            "gpusim.jobs",
            "gpusim.networks",
            "gpusim.correlation",
            "gpusim.microbench",
            "gpusim.bench",
            "gpusim.hip",
            "gpusim.sampling",
            "gpusim.sampling_check",
        ),
    ),
    "gpusim": (
        *("gpusim.base", *_KERNEL, "isa.execution", "gpusim.core"),
        *("gpusim.store", "gpusim.results", "gpusim.api", "gpusim.jobs", "gpusim.networks", "gpusim.sweep"),
        "gpusim.cli",  # python -m gpusim
    ),
}

# (module or room, room that it may import beside its row): why. One that nothing needs any more fails the test.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("isa.lanes.lane_library", "isa.semantics"): "loads every module of the folder by its name and calls none of them",
}


def excepted(module: str, room: str, seen: str) -> bool:
    """Whether the import of the room `seen` by a module of `room` is an exception."""
    return (module, seen) in EXCEPTIONS or (room, seen) in EXCEPTIONS


# (component of the machine record, room that writes it beside the one that declares it): why
WRITERS: dict[tuple[str, str], str] = {
    ("wheel", "gpusim.core"): "the run loop turns the wheel: it alone moves the current cycle on",
    (
        "run",
        "gpusim.core",
    ): "the run loop says when the run has ended, the simulator where its producer lies and what is passed over",
    ("timeline", "gpusim.timeline"): "the recorder's reader gives it its buffer and takes events out of it",
    ("dram", "gpusim.timeline"): "the same for DRAM commands",
}
