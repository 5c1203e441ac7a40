"""The file of `gpusim train-phase`: what is trained, how its stages are fed, and on how many GPUs.

`gpu`, `storage` and `topology` are each the name of a file, or a mapping, which may name a file as its `base`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from gpusim.base.errors import UserError
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.gpu import layered
from gpusim.config.network import NETWORK_FOLDER
from gpusim.config.network_run import BlockCirculantSpec
from gpusim.config.tree import Assignment, ConfigTree, Sets, assignments
from gpusim.model.core.gpu_spec import GpuSpec
from workloads.networks.described import MAX_BATCH

FOLDER = "trainings"
NAMED = {"storage": "storage", "topology": "topologies"}  # key → folder of the files that it may name
MOST_GPUS = 64
MOST_MS = 1e7  # of one stage: more than two hours
GpuCount = Annotated[int, Field(ge=1, le=MOST_GPUS)]
RunNumber = Annotated[int, Field(ge=1, le=10**12)]
Milliseconds = Annotated[float, Field(gt=0, le=MOST_MS)]


class StorageSpec(Spec):
    """What images are read from, and snapshots written to. Rates are of one disk; several are striped (RAID 0)."""

    name: str = param(..., "name in reports", "user")
    source: str = param("", "where the figures come from", "user")
    disks: int = param(1, "disks over which all is striped", "user", ge=1, le=1024)
    read_mb_s: float = param(..., "sequential reading, MB/s a disk", "user", gt=0, le=1e6)
    write_mb_s: float = param(..., "sequential writing, MB/s a disk", "user", gt=0, le=1e6)
    access_ms: float = param(..., "from a request to the first byte of another place, ms", "user", ge=0, le=1e4)

    def read_us(self, size_bytes: float, places: int) -> float:
        """Return the time in microseconds to read bytes that lie at so many places, spread over the disks."""
        return self._us(size_bytes, self.read_mb_s, places)

    def write_us(self, size_bytes: float) -> float:
        """Return the time in microseconds to write bytes one after another."""
        return self._us(size_bytes, self.write_mb_s, 1)

    def _us(self, size_bytes: float, mb_s: float, places: int) -> float:
        accesses = -(-places // self.disks)  # of the disk that has most
        return accesses * self.access_ms * 1e3 + size_bytes / (mb_s * self.disks)


class EdgeSpec(Spec):
    """A link between two nodes, each direction with the whole bandwidth; its nodes: gpuN, host, or any switch."""

    between: tuple[str, str] = param(..., "names of the two nodes", "user")
    gb_s: float = param(..., "payload in one direction, GB/s", "user", gt=0, le=1e5)
    latency_us: float = param(..., "of a message, microseconds", "user", ge=0, le=1e6)


class TopologySpec(Spec):
    """How GPUs are connected with each other and with the host."""

    name: str = param("", "name in reports; empty: the kind", "user")
    source: str = param("", "where the figures come from", "user")
    kind: Literal["pcie_tree", "ring", "mesh", "edges"] = param(
        "pcie_tree", "a tree of switches; GPUs in a ring; in a grid; or the links of `edges`", "user"
    )
    gb_s: float | None = param(
        None, "payload of a link in one direction, GB/s; null: the GPU's host link", "user", gt=0, le=1e5
    )
    latency_us: float | None = param(
        None, "of a message over a link, microseconds; null: the GPU's host link", "user", ge=0, le=1e6
    )
    ports: int = param(
        4, "of a pcie_tree: nodes below a switch", "assumed: GPUs below a switch of a server", ge=2, le=64
    )
    edges: tuple[EdgeSpec, ...] | None = param(None, "links of a topology of one's own", "user", max_length=4096)

    @model_validator(mode="after")
    def _has_its_edges(self) -> "TopologySpec":
        if (self.kind == "edges") != (self.edges is not None):
            raise ValueError(
                "kind edges needs its list `edges`"
                if self.edges is None
                else f"edges: belong to kind edges, not {self.kind}"
            )
        return self


class DatasetSpec(Spec):
    """The images as they lie in storage, and as they are copied."""

    record_kb: float = param(
        187.5, "an image with its label in storage, kB", "Li et al. 2018: 240 GB of 1.28 million images", gt=0, le=1e7
    )
    scattered: bool = param(
        False, "each image lies at a place of its own; false: one after another, as in LMDB", "user"
    )
    resident: bool = param(
        False, "images are in the GPUs' memory from the start: nothing is read, prepared or copied", "user"
    )
    image_kb: float | None = param(
        None,
        "an image as it is copied, kB; null: four bytes for each value of the network's input",
        "user",
        gt=0,
        le=1e7,
    )


class PreprocessSpec(Spec):
    """What the host does to each image."""

    ms_per_image: float = param(
        0.43, "of one thread, ms", "Li et al. 2018, figure 4: about 110 ms for 256 images", gt=0, le=1e5
    )
    threads: int = param(1, "that share the images of a batch", "Caffe 1.0: one", ge=1, le=1024)
    with_prefetch: bool = param(
        False, "the thread that reads a batch prepares it too, as in Caffe 1.0; false: a thread each", "user"
    )


class QueuesSpec(Spec):
    """Buffers between two stages, of a batch each: the one before fills one while the one behind empties another.
    With one buffer the two take turns.
    """

    read: int = param(4, "between prefetching and preprocessing", "Caffe 1.0: PREFETCH_COUNT", ge=1, le=1024)
    preprocessed: int = param(4, "between preprocessing and copying", "the same", ge=1, le=1024)
    copied: int = param(2, "of device memory, between copying and computing", "the least that overlaps", ge=1, le=64)


class SnapshotSpec(Spec):
    """When the parameters and the optimizer's state are written to storage."""

    every: int = param(10_000, "iterations", "Li et al. 2018, section 3.3", ge=1, le=10**9)
    blocking: bool = param(True, "training waits until it is written, as in Caffe", "Caffe 1.0: Solver::Snapshot")
    mb: float | None = param(
        None, "bytes of one in MB; null: parameters and the optimizer's state", "user", gt=0, le=1e7
    )


class LayerTimesSpec(Spec):
    """Times of one layer for the batch, in ms. What a layer does not have (a ReLU's update) is left out."""

    forward_ms: Milliseconds | None = param(None, "forward", "user")
    backward_ms: Milliseconds | None = param(None, "backward", "user")
    update_ms: Milliseconds | None = param(None, "update", "user")


class ComputeSpec(Spec):
    """Where the GPU's times come from: a stored run of the network (the default), or this file."""

    run: RunNumber | str | None = param(
        None, "the stored run, by number or name; null: the last of this network and batch", "user"
    )
    layers: dict[str, LayerTimesSpec] | None = param(None, "times by layer", "user")
    total: LayerTimesSpec | None = param(None, "times of the whole network", "user")
    strong: Literal["stored", "proportional"] = param(
        "stored", "times of smaller batches: of stored runs, or in proportion to the batch (update as it is)", "user"
    )

    @model_validator(mode="after")
    def _has_one_source(self) -> "ComputeSpec":
        if len(given := [name for name in ("run", "layers", "total") if getattr(self, name) is not None]) > 1:
            raise ValueError(f"{' and '.join(given)}: the times come from one of run, layers and total")
        for name, one in {**(self.layers or {}), **({"total": self.total} if self.total else {})}.items():
            if one == LayerTimesSpec():
                raise ValueError(f"{name}: has no time: forward_ms, backward_ms or update_ms is needed")
        return self


class TrainPhaseSpec(Spec):
    """The values that the stages of a training depend on."""

    title: str = param("", "in reports; empty: the network's name", "user")
    network: str = param(..., "the network's file, or the name of a shipped one", "user")
    batch: int = param(..., "images of one GPU in an iteration", "user", ge=1, le=MAX_BATCH)
    update: Literal["sgd", "adam"] = param("sgd", "optimizer, which decides the memory of its state", "the usual one")
    gpu: GpuSpec = param(..., "the GPU", "user")
    block_circulant: BlockCirculantSpec = BlockCirculantSpec()
    compute: ComputeSpec = ComputeSpec()
    dataset: DatasetSpec = DatasetSpec()
    storage: StorageSpec = param(..., "what images are read from", "user")
    cpu_threads: int = param(
        14, "threads of the host that run at a time", "Li et al. 2018, table 1: 14 cores", ge=1, le=4096
    )
    preprocess: PreprocessSpec = PreprocessSpec()
    queues: QueuesSpec = QueuesSpec()
    snapshot: SnapshotSpec = SnapshotSpec()
    gpus: tuple[GpuCount, ...] = param(
        (1,), "numbers of GPUs to compare; the first is looked at in full", "user", max_length=MOST_GPUS
    )
    topology: TopologySpec = TopologySpec()
    all_reduce: Literal["ring", "tree"] = param("ring", "how gradients are summed over the GPUs", "the usual one")
    overlap: bool = param(True, "sum gradients while the backward pass goes on", "PyTorch's DistributedDataParallel")
    bucket_mib: float = param(
        25.0,
        "gradients that are summed together, MiB",
        "PyTorch's DistributedDataParallel: bucket_cap_mb",
        gt=0,
        le=1e6,
    )
    iterations: int = param(24, "simulated iterations that count, after the first ones", "measured", ge=2, le=2000)

    @model_validator(mode="after")
    def _has_gpus(self) -> "TrainPhaseSpec":
        if not self.gpus:
            raise ValueError("gpus: names no number of GPUs; allowed are 1 to 64")
        return self


@dataclass(frozen=True)
class TrainPhase:
    """A training phase as it was given."""

    spec: TrainPhaseSpec
    """Contents of the file."""
    source: str
    """Name of the file, for messages."""
    gpu: str
    """Name under which the GPU was given."""
    network: Path
    """Path of the network's file."""
    files: list[Path]
    """All files read."""


def load_training(given: files.Given, sets: Sets = ()) -> TrainPhase:
    """Load a training's file, or a shipped one by name, with `sets` applied in order.

    Args:
        given: Path of a file, a shipped one's name, or a mapping.
        sets: Changed values as `path=value`, in order.

    Raises:
        UserError: The file cannot be read, or a value is not allowed.
    """
    document = files.opened(given, FOLDER)
    files.require(document, FOLDER)
    assigned = assignments(sets)
    values = dict(document.data)
    named = {key: _last(assigned, key, values.pop(key, None), document.path) for key in NAMED}
    tree = layered(
        files.Document(document.path, values, document.files),
        [a for a in assigned if a.path[0] not in NAMED],
        TrainPhaseSpec,
    )
    for key, (value, source, beside) in named.items():
        if value is not None:
            _lay(tree, key, value, source, beside, ())
    for a in assigned:
        if a.path[0] in NAMED and len(a.path) > 1:
            tree.replace(a.path, a.value, a.source, ())
    spec = checked(TrainPhaseSpec, tree)
    gpu = _last(assigned, "gpu", values.get("gpu"), document.path)[0]
    name = gpu.get("base", spec.gpu.name) if isinstance(gpu, Mapping) else gpu
    # a bare name is a network's: a training's own file may have the same
    network = files.find(spec.network, NETWORK_FOLDER, document.path if Path(spec.network).suffix else None)
    return TrainPhase(spec, str(document.path), str(name), network, [*tree.files, network])


def _last(laid: Sequence[Assignment], key: str, value: Any, path: Path) -> tuple[Any, str, Path]:
    """Return what a key is told last, who says so, and the file beside which a name is looked for."""
    told = (value, str(path), path)
    for a in laid:
        if a.path == (key,):
            told = (a.value, a.source, Path("--set"))
    return told


def _lay(tree: ConfigTree, key: str, value: Any, source: str, beside: Path, seen: tuple[Path, ...]) -> None:
    """Lay a part that is the name of a file, or a mapping over its `base`, into the tree."""
    if isinstance(value, str):
        try:
            path = files.find(value, NAMED[key], beside)
        except UserError as error:
            raise UserError(*(f"{source}: {key}: {problem}" for problem in error.problems)) from None
        if path in seen:
            raise UserError(f"{path}: base: refers back to itself")
        document = files.Document(path, tree.read(path))
        files.require(document, NAMED[key])
        _lay(tree, key, document.data, str(path), path, (*seen, path))
    elif isinstance(value, Mapping):
        own = dict(value)
        base = own.pop("base", None)
        if base is not None:
            if not isinstance(base, str):
                raise UserError(f"{source}: {key}.base: must be the name of a file")
            _lay(tree, key, base, source, beside, seen)
        tree.data.setdefault(key, {})
        whole_file = bool(seen) and beside == seen[-1]
        tree.origins.setdefault((key,), (source, () if whole_file else (key,)))
        tree.merge(own, source, (key,), () if whole_file else (key,))
    else:
        tree.replace((key,), value, source, (key,))
