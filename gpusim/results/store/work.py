"""What a run is asked for, and by which code: equal work gives an equal result, on every host."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gpusim.base.extensions import extension_sources

if TYPE_CHECKING:
    from gpusim.config.exec import ExecConfig
    from gpusim.config.run import RunConfig

ROOT = Path(__file__).resolve().parents[3]
# what decides the facts of a launch that is given, simulated whole or sampled: quantiles and sums are of estimates
_QUANTILES_AND_SUMS = ("gpusim/base/student.py", "gpusim/base/sums.py")
SIMULATOR = ("isa", "memory", "spartan", "gpusim/model", "gpusim/base/jit", *_QUANTILES_AND_SUMS)
# what beside it decides a run's result: how configurations are read, work becomes launches, and counts metrics
ALL = (*SIMULATOR, "workloads", "gpusim/config", "gpusim/jobs", "gpusim/results/records", "gpusim/results/metrics")
KINDS = (".py", ".hsaco", ".cpp", ".txt")
RunKind = Literal["run", "exec", "net", "hip", "microbench", "correlate"]


class NetworkRows(NamedTuple):
    """A network as the store describes it."""

    name: str
    """Name."""
    source: str
    """Name of its file."""
    identity: str
    """Hash that differs between networks."""
    layers: Sequence[tuple[str, str]]
    """Name and kind of each layer, in order."""


@dataclass(frozen=True)
class RunDescription:
    """A run before it is run."""

    kind: RunKind
    """Kind of run: the name of its command."""
    title: str
    """Title shown to people."""
    configuration: Mapping[str, Any]
    """Resolved configuration: everything that decides the result."""
    inputs: Sequence[Path]
    """Other files that are read."""
    gpu: str
    """Name of the GPU."""
    seed: int | None = None
    """Seed of the generated data; None: none."""
    batch: int | None = None
    """Batch size; None: not a network or layer."""
    phase: str | None = None
    """Phase of a network: training or inference; None: not a network."""
    network: NetworkRows | None = None
    """Network; None: not a network."""
    repeatable: bool = True
    """Hashes cover everything that decides the result."""

    @cached_property
    def configuration_json(self) -> str:
        """The configuration as it is stored: JSON with the keys in the order of the result's object."""
        return json.dumps(self.configuration, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def configuration_hash(self) -> str:
        """The hash of the configuration's JSON."""
        return _hash(self.configuration_json.encode())

    @cached_property
    def inputs_hash(self) -> str:
        """The hash of the input files' contents, in order; an unreadable file is left for the run to report."""
        return hash_of_files(self.inputs)

    @cached_property
    def identity(self) -> str:
        """A hash that is equal for equal work."""
        network = self.network.identity if self.network is not None else ""
        parts = (self.kind, self.configuration_hash, self.inputs_hash, sources_hash(), network)
        return _hash(repr(parts).encode())


def describe_run(config: "RunConfig") -> RunDescription:
    """Return the work that `gpusim run` does with this configuration."""
    workload: Any = config.workload
    batch, seed = getattr(workload, "batch", None), workload.seed
    return RunDescription(
        kind="run",
        title=workload.title,
        configuration=config.resolved(),
        inputs=config.inputs,
        gpu=config.gpu.name,
        seed=seed,
        batch=batch,
    )


def describe_exec(config: "ExecConfig", path: Path) -> RunDescription:
    """Return the work that `gpusim exec` does with a configuration of file `path`; one that writes is always run.

    Args:
        config: The configuration.
        path: Path of the file.
    """
    title = config.kernel or Path(config.code_object).stem
    inputs, repeatable = config.inputs(path), not config.outputs
    return RunDescription("exec", title, config.resolved(), inputs, config.gpu.name, repeatable=repeatable)


def sources_hash(places: tuple[str, ...] | None = None) -> str:
    """Hash the source files and code objects under `places`, by their paths and contents; by default all that decide
    results, extensions' included.
    """
    return _files_hash(places if places is not None else (*ALL, *extension_sources()))


@cache
def _files_hash(places: tuple[str, ...]) -> str:
    h = hashlib.sha256()
    for place in places:
        path = ROOT / place
        for file in [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.suffix in KINDS):
            h.update(f"{file.relative_to(ROOT).as_posix()} {file.stat().st_size}\n".encode())
            h.update(file.read_bytes())
    return h.hexdigest()[:16]


def hash_of_files(files: Sequence[Path]) -> str:
    """Hash the contents of the files, in order; one that cannot be read counts as missing."""
    h = hashlib.sha256()
    for path in files:
        try:
            with path.open("rb") as file:
                h.update(hashlib.file_digest(file, "sha256").digest())
        except OSError:
            h.update(b"missing")
    return h.hexdigest()[:16]


def identity_of(*parts: Any) -> str:
    """Return a short hash of values whose `repr` describes them completely."""
    return _hash(repr(parts).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
