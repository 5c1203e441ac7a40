"""The layers: packages, lowest first, and what is forbidden beyond their order.

A package may import from every layer below its own, and on its own layer from the packages before it, unless the layer
keeps its packages apart. NEVER and ONLY_BY forbid what that order would permit. A new package has to be entered on its
layer; what it holds is the first line of its docstring. `docs/explanation/architecture.md` is drawn from layers and
imports.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """Packages of one layer, in order. apart: none of them may import another one."""

    name: str
    packages: tuple[str, ...]
    apart: bool = False


LAYERS = (
    Layer("tools", ("gpusim.base", "gpusim.base.jit")),
    Layer(
        "what a kernel is and computes",
        (
            "isa.opcodes",
            "isa.object",
            "isa",
            "isa.lanes",
            "isa.semantics",
            "isa.encoding",
            "isa.execution",
            "isa.checking",
        ),
    ),
    Layer(
        "the memory system",
        (
            "memory",
            "memory.network",
            "memory.sets",
            "memory.translation",
            "memory.dram.standards",
            "memory.dram",
            "memory.cache",
        ),
    ),
    Layer("the units around it", ("spartan", "gpusim.model.core.cu"), apart=True),
    Layer(
        "model: the timed GPU", ("gpusim.model", "gpusim.model.core", "gpusim.model.sampling", "gpusim.model.energy")
    ),
    Layer(
        "workloads: what it runs",
        (
            "workloads",
            "workloads.toolchain",
            "workloads.data",
            "workloads.operators",
            "workloads.networks",
            "workloads.vendor",
        ),
    ),
    Layer("config: what a run is given", ("gpusim.config",), apart=True),
    Layer(
        "results: counts, metrics and how they are shown",
        (
            "gpusim.results.records",
            "gpusim.results.metrics",
            "gpusim.results",
            "gpusim.results.report.sweeps",
            "gpusim.results.report",
            "gpusim.results.report.page",
        ),
    ),
    Layer(
        "results: the store and the views while a run runs",
        ("gpusim.results.live", "gpusim.results.timeline", "gpusim.results.store"),
        apart=True,
    ),
    Layer(
        "jobs: one run",
        (
            "gpusim.jobs.host",
            "gpusim.jobs.api",
            "gpusim.jobs.running",
            "gpusim.jobs.hip",
            "gpusim.jobs.demand",
            "gpusim.jobs.networks",
            "gpusim.jobs.estimates",
            "gpusim.jobs",
        ),
    ),
    Layer("study: many runs", ("gpusim.study", "gpusim.study.compare", "gpusim.study.sweep"), apart=True),
    Layer("cli: the command line", ("gpusim.cli",), apart=True),
    Layer(
        "lab: papers, silicon, checks of the simulator",
        (
            "gpusim.lab.versions",
            "gpusim.lab.capture",
            "gpusim.lab.monitor",
            "gpusim.lab.microbench",
            "gpusim.lab.silicon",
            "gpusim.lab.training",
            "gpusim.lab.papers.specs",
            "gpusim.lab.papers",
            "gpusim.lab.papers.figures",
            "gpusim.lab.papers.page",
            "gpusim.lab.checks",
            "gpusim.lab.checks.bench",
            "gpusim.lab.checks.estimates",
            "gpusim.lab.checks.sampling",
            "gpusim.lab.ages",
            "gpusim.lab.cli",
            "gpusim.lab",
        ),
    ),
    Layer("the public names", ("gpusim",), apart=True),
)
ORDER = tuple(package for layer in LAYERS for package in layer.packages)

# (packages, packages that they never import): why. A name stands for the package and those below it, but `gpusim` for
# itself.
NEVER: dict[tuple[str, str], str] = {
    ("isa.opcodes isa.lanes isa.semantics", "isa.object"): "an instruction is the same in every code object",
    (
        "memory spartan",
        "isa.object isa.encoding isa.execution isa.lanes isa.opcodes",
    ): "they see lines alone",
    ("gpusim.model.core.cu", "isa.execution isa.object isa.lanes"): "timing reads traces and needs no register's value",
    ("gpusim.model.core.cu", "memory.dram memory.translation"): "below the first caches lies what those know",
    ("spartan", "memory.cache memory.network memory.translation"): "the engine answers L2 through a port alone",
    ("gpusim.model.sampling", "memory spartan"): "what is sampled is wavefronts, whatever they touch",
    ("workloads", "gpusim.base.jit isa.execution isa.lanes memory spartan gpusim.model.core gpusim.model.sampling"): (
        "what is run does not know what runs it"
    ),
    ("workloads.toolchain workloads.data workloads.networks", "isa"): "kernels come after them",
    (
        "gpusim.results.records gpusim.results.metrics",
        "isa memory spartan workloads gpusim.model.sampling gpusim.config",
    ): "a result is read again without what made it, and contains its configuration",
    ("gpusim.results.report", "gpusim.config"): "a result contains its configuration",
    ("gpusim.results.report", "isa.execution isa.encoding isa.lanes gpusim.base.jit"): "a report executes nothing",
    ("gpusim.results.report", "memory workloads gpusim.model.energy gpusim.model.sampling"): (
        "a report shows results alone"
    ),
    ("gpusim.results.report.page", "isa spartan gpusim.model.core"): "a page is made of JSON objects",
    (
        "gpusim.results.timeline gpusim.results.live",
        "workloads gpusim.config gpusim.results.records gpusim.results.metrics",
    ): "they watch the machine",
    (
        "gpusim.results.store",
        "memory spartan workloads gpusim.base.jit isa.execution isa.encoding",
    ): "what is stored is plain data",
    (
        "gpusim.jobs.host",
        "workloads gpusim.config gpusim.model.energy gpusim.results.report gpusim.results.store",
    ): "it runs launches of any origin",
    (
        "gpusim.jobs.host gpusim.jobs.api gpusim.jobs.running gpusim.jobs.hip gpusim.jobs",
        "gpusim.results.store",
    ): "a result is stored by its requester",
    (
        "gpusim.jobs.hip",
        "gpusim.config gpusim.jobs.api workloads.data workloads.networks workloads.operators workloads.vendor",
    ): "a program brings its own arrays and kernels",
    (
        "gpusim.jobs.running gpusim.jobs gpusim.jobs.networks",
        "memory gpusim.model.core.cu",
    ): "the machine's parts are its own affair",
    ("gpusim.study.compare", "isa spartan gpusim.model.core workloads gpusim.config"): "it compares what was stored",
    (
        "gpusim.study.sweep gpusim.lab.papers",
        "isa memory spartan gpusim.jobs.host gpusim.jobs.api gpusim.jobs.hip",
    ): "points are whole jobs",
    ("gpusim.lab.microbench", "gpusim.jobs gpusim.results.report"): "it measures by machine code of its own",
    (
        "gpusim.cli gpusim.lab.cli",
        "memory gpusim.model.core.cu gpusim.base.jit gpusim.jobs.host gpusim.jobs.api gpusim.model.energy",
    ): "it starts whole jobs",
}

# package: who alone imports it, and why
ONLY_BY: dict[str, tuple[str, str]] = {
    "isa.semantics": ("", "its folder is read as a whole, and what it says is compiled"),
    "isa.lanes": ("isa.semantics isa.execution", "instructions are computed in execution alone"),
    "gpusim.jobs.hip": ("gpusim.jobs gpusim.jobs.networks gpusim.cli", "a program is run as a whole"),
    "gpusim.results.live": ("gpusim.cli gpusim.lab.cli", "a run does not know that it is watched"),
    "gpusim.results.timeline": (
        "gpusim.jobs.api gpusim.cli gpusim.lab.cli",
        "a run gets its timeline from who asked for one",
    ),
    "gpusim.lab.papers.figures": (
        "gpusim.lab.papers.page gpusim.lab.ages gpusim.lab.cli",
        "a figure is read by its kind, and shows itself",
    ),
}

# (module or package, module or package that it may import all the same): why. One that nothing needs any more fails the
# test.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("isa.lanes.lane_library", "isa.semantics"): "loads every module of the folder by its name and calls none of them",
    ("gpusim.results.report", "isa.execution.resident"): "where wavefronts stood when a run ended: plain data",
    ("gpusim.results.store", "isa.execution.resident"): "the same data, stored",
    ("gpusim.results.timeline.launches", "gpusim.results.records.record"): "times of launches and copies: plain data",
    ("workloads.toolchain.needed", "gpusim.base.jit.cache_folders"): "the names of the user's folders with code",
    ("workloads.toolchain.compilers", "gpusim.base.jit.cache_folders"): "the same: which compilers were tried",
    ("gpusim.jobs.hip", "gpusim.results.store.work"): "the job defines which work is equal",
}
GROUPS = ("gpusim", "gpusim.jobs")  # packages whose name stands for their own modules alone


def _within(package: str, names: str) -> bool:
    """Tell whether a package is one of the names, or lies below one; a group is only itself."""
    return any(package == name or (name not in GROUPS and package.startswith(f"{name}.")) for name in names.split())


def forbidden(package: str, seen: str) -> str:
    """Return why a package may not import another one, an empty text if it may."""
    layers = [next(layer for layer in LAYERS if one in layer.packages) for one in (package, seen)]
    if ORDER.index(seen) >= ORDER.index(package):
        return f"{seen} ({layers[1].name}) does not stand below {package} ({layers[0].name})"
    if layers[0] is layers[1] and layers[0].apart:
        return f"{layers[0].name}: packages of this layer do without one another"
    for (packages, others), why in NEVER.items():
        if _within(package, packages) and _within(seen, others) and not _within(seen, packages):
            return f"{packages} may not import {others}: {why}"
    if seen in ONLY_BY and not _within(package, ONLY_BY[seen][0]):
        return f"{seen} is only for {ONLY_BY[seen][0] or 'itself'}: {ONLY_BY[seen][1]}"
    return ""


def excepted(module: str, package: str, imported: str, seen: str) -> bool:
    """Tell whether the import of a module of the package `seen` by a module of `package` is an exception."""
    return any((here, there) in EXCEPTIONS for here in (module, package) for there in (imported, seen))


# (component of the machine record, package that writes it beside the one that declares it): why
WRITERS: dict[tuple[str, str], str] = {
    ("wheel", "gpusim.model.core"): "the run loop turns the wheel: it alone moves the current cycle on",
    (
        "run",
        "gpusim.model.core",
    ): "the run loop says when the run has ended, the simulator where its producer lies and what is passed over",
    ("timeline", "gpusim.results.timeline"): "the recorder's reader gives it its buffer and takes events out of it",
    ("dram", "gpusim.results.timeline"): "the same for DRAM commands",
    ("slices", "gpusim.model.core"): "who runs both records of a divided machine puts what they ask for in order",
    ("access", "gpusim.model.core"): "the same for accesses that are counted in an order",
    ("l1", "gpusim.model.core"): "of two records spans of cycles are put together",
    ("cu", "gpusim.model.core"): "the same for the LDS",
}

# package: lines of Python that it may have. Raise a number in the commit that needs it, and say there why.
LINE_BUDGETS: dict[str, int] = {
    "gpusim.base": 5_540,
    "gpusim.model": 11_017,
    "gpusim.config": 2_737,
    "gpusim.results": 13_887,
    "gpusim.jobs": 14_506,
    "gpusim.study": 3_570,
    "gpusim.cli": 4_000,
    "gpusim.lab": 24_364,
    "isa": 21_887,
    "memory": 9_910,
    "spartan": 3_310,
    "workloads": 22_509,
}
