"""The layers: floors of rooms, lowest first, and what is forbidden beyond their order.

A room may import from every floor below its own, and on its own floor from the rooms before it, unless the floor keeps
its rooms apart. NEVER and ONLY_BY forbid what that order would permit. A new room has to be entered on its floor;
what it holds is the first line of its package's docstring. `docs/architecture.md` is drawn from floors and imports.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Floor:
    """Rooms of one height, in order. apart: none of them may import another one."""

    name: str
    rooms: tuple[str, ...]
    apart: bool = False


FLOORS = (
    Floor("tools", ("gpusim.base", "gpusim.jit")),
    Floor(
        "what a kernel is and computes",
        (
            *("isa.opcodes", "isa.object", "isa", "isa.lanes", "isa.semantics", "isa.encoding"),
            *("isa.execution", "isa.checking"),
        ),
    ),
    Floor(
        "the memory system",
        (
            *("memory", "memory.network", "memory.sets", "memory.translation"),
            *("memory.dram.standards", "memory.dram", "memory.cache"),
        ),
    ),
    Floor("the units around it", ("spartan", "gpusim.core.cu"), apart=True),
    Floor("the timed machine", ("gpusim.core", "gpusim.sampling")),
    Floor(
        "what it runs",
        (
            *("workloads", "workloads.toolchain", "workloads.data", "workloads.monitor", "workloads.networks"),
            *("workloads.operators", "workloads.vendor"),
        ),
    ),
    Floor("what a run is told, and what it counts", ("gpusim.energy", "gpusim.config", "gpusim.results")),
    Floor(
        "what follows from counts",
        ("gpusim.results.metrics", "gpusim.report.sweeps", "gpusim.report", "gpusim.report.page"),
    ),
    Floor("where it is shown and kept", ("gpusim.live", "gpusim.timeline", "gpusim.store"), apart=True),
    Floor(
        "the way of a run",
        (
            *("gpusim.host", "gpusim.api", "gpusim.running", "gpusim.hip", "gpusim.networks", "gpusim.estimates"),
            *("gpusim.microbench", "gpusim.correlation", "gpusim.jobs"),
        ),
    ),
    Floor("many runs", ("gpusim.compare", "gpusim.sweep", "gpusim.training"), apart=True),
    Floor("publications", ("gpusim.reproduce", "gpusim.reproduce.kinds", "gpusim.reproduce.page")),
    Floor("measurements", ("gpusim.bench", "gpusim.sampling_check")),
    Floor("the user", ("gpusim.cli", "gpusim")),
)
ORDER = tuple(room for floor in FLOORS for room in floor.rooms)

# (rooms, rooms that they never import): why. A name stands for the room and those below it, but `gpusim` for itself.
NEVER: dict[tuple[str, str], str] = {
    ("isa.opcodes isa.lanes isa.semantics", "isa.object"): "an instruction is the same in every code object",
    (
        "memory spartan",
        "isa.object isa.encoding isa.execution isa.lanes isa.opcodes",
    ): "they see lines alone",
    ("gpusim.core.cu", "isa.execution isa.object isa.lanes"): "timing reads traces and needs no register's value",
    ("gpusim.core.cu", "memory.dram memory.translation"): "below the first caches lies what those know",
    ("spartan", "memory.cache memory.network memory.translation"): "the engine answers L2 through a port alone",
    ("gpusim.sampling", "memory spartan"): "what is sampled is wavefronts, whatever they touch",
    ("workloads", "gpusim.jit isa.execution isa.lanes memory spartan gpusim.core gpusim.sampling"): (
        "what is run does not know what runs it"
    ),
    (
        "workloads.toolchain workloads.data workloads.monitor workloads.networks",
        "isa",
    ): "kernels come after them",
    ("gpusim.results", "isa memory spartan workloads gpusim.sampling"): "a result is read again without what made it",
    ("gpusim.results gpusim.report", "gpusim.config"): "a result has its configuration in it, as it was",
    ("gpusim.report", "isa.execution isa.encoding isa.lanes gpusim.jit"): "a report executes nothing",
    ("gpusim.report", "memory workloads gpusim.energy gpusim.sampling"): "a report tells what results say",
    ("gpusim.report.page", "isa spartan gpusim.core"): "a page is made of JSON objects, of earlier versions too",
    (
        "gpusim.timeline gpusim.live",
        "workloads gpusim.config gpusim.results gpusim.store",
    ): "they watch the machine",
    ("gpusim.store", "memory spartan workloads gpusim.jit isa.execution isa.encoding"): "what is stored is plain data",
    ("gpusim.host", "workloads gpusim.config gpusim.energy gpusim.report gpusim.store"): (
        "it runs launches, wherever these come from"
    ),
    (
        "gpusim.host gpusim.api gpusim.running gpusim.hip gpusim.jobs",
        "gpusim.store",
    ): "who asked for a result keeps it",
    ("gpusim.hip", "gpusim.config gpusim.api workloads.data workloads.networks workloads.operators workloads.vendor"): (
        "a program brings its own arrays and kernels"
    ),
    (
        "gpusim.running gpusim.jobs gpusim.networks",
        "memory gpusim.core.cu",
    ): "its parts are the machine's affair",
    ("gpusim.compare", "isa spartan gpusim.core workloads gpusim.config"): "it compares what was stored",
    ("gpusim.sweep gpusim.reproduce", "isa memory spartan gpusim.host gpusim.api gpusim.hip"): "points are whole jobs",
    ("gpusim.reproduce", "gpusim.core"): "every value follows from runs in a store",
    ("gpusim.microbench", "gpusim.jobs gpusim.report"): "it measures by machine code of its own",
    (
        "gpusim.cli",
        "memory gpusim.core.cu gpusim.jit gpusim.host gpusim.api gpusim.energy",
    ): "it asks jobs, networks",
}

# room: who alone imports it, and why
ONLY_BY: dict[str, tuple[str, str]] = {
    "isa.semantics": ("", "its folder is read as a whole, and what it says is compiled"),
    "isa.lanes": ("isa.semantics isa.execution", "instructions are computed in execution alone"),
    "gpusim.hip": ("gpusim.jobs gpusim.networks gpusim.cli", "a program is run as a whole"),
    "gpusim.live": ("gpusim.cli", "a run does not know that it is watched"),
    "gpusim.timeline": ("gpusim.api gpusim.cli", "a run gets its timeline from who asked for one"),
    "gpusim.reproduce.kinds": ("gpusim.reproduce.page", "what a figure shows is chosen by name"),
    "gpusim.correlation": ("gpusim.jobs gpusim.cli", "no result depends on a measurement of the model"),
    "gpusim.microbench": ("gpusim.jobs gpusim.cli", "no result depends on a measurement of the model"),
}

# (module or room, module or room that it may import all the same): why. One that nothing needs any more fails the test.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("isa.lanes.lane_library", "isa.semantics"): "loads every module of the folder by its name and calls none of them",
    ("gpusim.report", "isa.execution.resident"): "where wavefronts stood when a run ended: plain data",
    ("gpusim.store", "isa.execution.resident"): "the same data, kept",
    ("gpusim.timeline.launches", "gpusim.results.record"): "when launches and copies happened: plain data",
    ("workloads.toolchain.needed", "gpusim.jit.cache_folders"): "which of the user's folders hold code, by name alone",
    ("gpusim.hip", "gpusim.store.work"): "what equal work is known by is the job's to say",
}


def _within(room: str, names: str) -> bool:
    """Tell whether a room is one of the names, or lies below one; `gpusim` is only itself."""
    return any(room == name or (name != "gpusim" and room.startswith(f"{name}.")) for name in names.split())


def forbidden(room: str, seen: str) -> str:
    """Return why a room may not import another one, an empty text if it may."""
    floors = [next(floor for floor in FLOORS if one in floor.rooms) for one in (room, seen)]
    if ORDER.index(seen) >= ORDER.index(room):
        return f"{seen} ({floors[1].name}) does not stand below {room} ({floors[0].name})"
    if floors[0] is floors[1] and floors[0].apart:
        return f"{floors[0].name}: rooms of this floor do without one another"
    for (rooms, others), why in NEVER.items():
        if _within(room, rooms) and _within(seen, others) and not _within(seen, rooms):
            return f"{rooms} may not import {others}: {why}"
    if seen in ONLY_BY and not _within(room, ONLY_BY[seen][0]):
        return f"{seen} is only for {ONLY_BY[seen][0] or 'itself'}: {ONLY_BY[seen][1]}"
    return ""


def excepted(module: str, room: str, imported: str, seen: str) -> bool:
    """Tell whether the import of a module of the room `seen` by a module of `room` is an exception."""
    return any((here, there) in EXCEPTIONS for here in (module, room) for there in (imported, seen))


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
