"""The model's version: a hash for each part of the sources that can change a recorded figure.

What cannot change one is left out: comments and names (`gpusim.lab.versions.syntax`), and packages that only show,
store or begin runs. A point without the engine does not depend on `spartan`, one that is simulated whole not on
`sampling`, one of a GPU without matrix units not on `matrix`, a product not on what networks are made of. Two parts are
the point's own: `kernels`, the code objects of the kernels that it launched, and `configuration`, in which defaults do
not count: they are sources. Figures that do not have these, such as rows of a correlation, depend on all code objects
and configurations.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

from gpusim.base.jit.cache import keep, read_cached
from gpusim.lab.versions.reached import list_reached
from gpusim.lab.versions.syntax import FORM, meaning_hash

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "results"
"""The folder of the repository's recorded results."""
Hashes = Mapping[str, str]
"""Hashes by part."""
_LAUNCHES = (
    "workloads/operators", "workloads/networks", "workloads/data", "workloads/vendor", "workloads/shapes.py",
    "workloads/circulant.py", "gpusim/config", "gpusim/jobs",
)  # fmt: skip
PARTS: Mapping[str, tuple[str, ...]] = {
    "isa": ("isa",),
    # what only GPUs with matrix units have
    "matrix": (
        "isa/lanes/matrix_numpy.py", "isa/lanes/matrix_text.py", "isa/semantics/matrix.py", "isa/opcodes/gfx908.py",
        "isa/opcodes/gfx908.txt", "isa/opcodes/gfx90a.py", "isa/opcodes/gfx90a.txt", "isa/opcodes/gfx942.py",
        "isa/opcodes/gfx942.txt",
    ),
    "checking": ("isa/checking",),
    "core": ("gpusim/model/core", "gpusim/base/jit", "gpusim/base/student.py", "gpusim/base/sums.py"),
    "memory": ("memory",),
    "spartan": ("spartan",),
    "sampling": ("gpusim/model/sampling",),
    "energy": ("gpusim/model/energy",),
    # how work becomes launches
    "launches": _LAUNCHES,
    "products": _LAUNCHES,
    "networks": _LAUNCHES,
    # how counts become metrics
    "metrics": ("gpusim/results/records", "gpusim/results/metrics"),
    "microbench": ("gpusim/lab/microbench", "workloads/microbench"),
    "silicon": ("gpusim/lab/silicon",),
    "training": ("gpusim/lab/training", "gpusim/lab/monitor"),
    "suite": ("gpusim/lab/checks/sampling", "workloads/placed_kernels"),
    "objects": ("workloads/kernels", "workloads/bench_kernels"),
    "configurations": (
        "sim_configs/gpus", "sim_configs/dram", "sim_configs/engines", "sim_configs/networks", "sim_configs/sweeps",
        "sim_configs/layerA.yaml", "sim_configs/layerB.yaml", "sim_configs/layerC.yaml",
    ),
    "measured": ("sim_configs/measured",),
}  # fmt: skip
"""Files and folders of each part, below the repository's root."""
REACHED_FROM: Mapping[str, tuple[str, ...]] = {
    "products": ("gpusim.jobs.gemm", "gpusim.jobs.convolution", "gpusim.jobs.running.runner"),
    "networks": ("gpusim.jobs.networks.job", "gpusim.jobs.running.runner"),
}
"""Parts of which only those modules count that the jobs of a kind reach, and all files that are no Python."""
PARTS_WITHIN: Mapping[str, tuple[str, ...]] = {"isa": ("matrix", "checking")}
"""Parts whose files lie in the folders of another part, and do not count there."""
MATRIX_ARCHITECTURES = ("gfx908", "gfx90a", "gfx942")
"""Architectures with matrix units."""
NOT_OF_FIGURES = ("gpusim/jobs/hip", "gpusim/jobs/api", "gpusim/jobs/estimates")
"""Folders within a part from which no recorded figure comes."""
RUN = ("isa", "core", "memory", "energy", "metrics")
"""Parts that decide any run."""
ANY_RUN = (*RUN, "launches", "spartan", "sampling", "matrix")
"""Parts that may decide a run of which no more is known."""
KERNELS, CONFIGURATION = "kernels", "configuration"
OWN = (KERNELS, CONFIGURATION)
"""Parts that are a point's own."""
SOURCES = "sources"
"""The part of points from before versions were recorded: a hash of all files as they were."""
KINDS = (".py", ".txt", ".json", ".csv", ".yaml", ".dnnmark", ".hsaco")
"""Files that count: code, tables of instructions, data, configurations, code objects."""
_DIGITS = 8
_KERNEL = re.compile(rb"(\w+)\.kd\0")


@dataclass(frozen=True)
class FigureVersion:
    """What made a recorded figure."""

    model: Hashes
    """Hashes of all parts of the model."""
    uses: tuple[str, ...] = ()
    """Parts that the figure depends on; empty: not known, so that each may."""
    own: Hashes = field(default_factory=dict)
    """Hashes of what is the point's own."""

    @property
    def name(self) -> str:
        """The model's name; empty where its version was not recorded."""
        return name_model(self.model)

    def depends_on(self, part: str) -> bool:
        """Tell whether the figure depends on a part of the model."""
        return part in self.uses or (not self.uses and part in ANY_RUN)


UNRECORDED = FigureVersion({})


def present_model() -> Hashes:
    """Return the hashes of all parts in the present sources."""
    return {part: _part_hash(part) for part in PARTS}


def present_version(
    architecture: str | None = None,
    launches: str = "launches",
    engine: bool = False,
    sampled: bool = False,
    more: Sequence[str] = (),
    own: Hashes | None = None,
) -> FigureVersion:
    """Return the version of what is run now.

    Args:
        architecture: Architecture of the GPU that is simulated; None: any.
        launches: Part that makes its launches: of products, of networks, or of all.
        engine: It runs with the compaction engine.
        sampled: It may be simulated in part.
        more: Further parts that it depends on.
        own: Hashes of what is the point's own.

    Returns:
        The version.
    """
    depends = {"spartan": engine, "sampling": sampled, "matrix": architecture in (None, *MATRIX_ARCHITECTURES)}
    uses = (*RUN, launches, *(part for part, does in depends.items() if does), *more)
    return FigureVersion(present_model(), uses, own or {})


def name_model(model: Hashes) -> str:
    """Return a short name that is equal for equal parts; empty for a model of which none is known."""
    parts = {part: value for part, value in model.items() if part != SOURCES}
    return short_hash(json.dumps(parts, sort_keys=True).encode()) if parts else ""


def kernels_hash(names: Iterable[str]) -> str:
    """Hash the shipped code objects that have kernels of these names; those of other libraries are not the model's."""
    objects = _objects_by_kernel()
    files = sorted({file for name in names for file in objects.get(name, ())})
    return short_hash(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files))


def short_hash(content: bytes) -> str:
    """Return the first digits of a content's hash."""
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


@cache
def _objects_by_kernel() -> Mapping[str, tuple[Path, ...]]:
    objects: dict[str, tuple[Path, ...]] = {}
    for file in sorted((ROOT / "workloads").rglob("*.hsaco")):
        for name in sorted(set(_KERNEL.findall(file.read_bytes()))):
            objects[name.decode()] = (*objects.get(name.decode(), ()), file)
    return objects


@cache
def _part_hash(part: str) -> str:
    contents = {file.relative_to(ROOT).as_posix(): file.read_bytes() for file in list_files(part)}
    pairs = list(contents.items())
    raw = hashlib.sha256(repr([(name, hashlib.sha256(content).digest()) for name, content in pairs]).encode())
    cached = f"meanings-{FORM}/{raw.hexdigest()[:32]}"
    known = read_cached(cached)
    if known is None:
        meanings = [(name, _meaning(name, content)) for name, content in pairs]
        known = short_hash(repr(meanings).encode()).encode()
        keep(cached, known)
    return known.decode()


def list_files(part: str) -> Iterable[Path]:
    """Yield the files of a part, in order."""
    reached = _reached_files(REACHED_FROM[part]) if part in REACHED_FROM else None
    within = tuple(place for inner in PARTS_WITHIN.get(part, ()) for place in PARTS[inner])
    for file in _files(PARTS[part]):
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith(within) and (reached is None or file.suffix != ".py" or name in reached):
            yield file


def _files(places: Iterable[str]) -> Iterable[Path]:
    """Yield the files of some places, in order."""
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = file.relative_to(ROOT).as_posix()
            if file.suffix in KINDS and not name.startswith(tuple(f"{folder}/" for folder in NOT_OF_FIGURES)):
                yield file


@cache
def _reached_files(start: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the Python files of all parts that some modules reach."""
    files = {file for places in PARTS.values() for file in _files(places) if file.suffix == ".py"}
    sources = {_module_name(file): file.read_text(encoding="utf-8") for file in sorted(files)}
    raw = hashlib.sha256(repr((start, sorted(sources.items()))).encode())
    cached = f"reached-{FORM}/{raw.hexdigest()[:32]}"
    known = read_cached(cached)
    if known is None:
        known = json.dumps(sorted(list_reached(start, sources))).encode()
        keep(cached, known)
    modules = set(json.loads(known))
    return frozenset(file.relative_to(ROOT).as_posix() for file in files if _module_name(file) in modules)


def _module_name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _meaning(name: str, content: bytes) -> str:
    if name.endswith(".py"):
        return meaning_hash(content.decode())
    if name.endswith(".yaml"):  # without its comments
        content = repr(yaml.load(content, yaml.CSafeLoader)).encode()
    return hashlib.sha256(content).hexdigest()
