"""A run's whole configuration, and how it is put together from files and `--set`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import model_validator

from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.tree import Tree, parse_set
from gpusim.config.workload import KernelsSpec, RunSpec, WorkloadSpec
from gpusim.core.gpu_spec import GpuSpec
from gpusim.errors import UserError
from gpusim.spec import Spec, param
from spartan.engine_spec import EngineSpec
from workloads.gemm import SOFTWARE

GPU_FOLDER = "gpus"


class RunConfig(Spec):
    """Everything a run depends on."""

    gpu: GpuSpec = param(..., "the GPU", "user")
    workload: WorkloadSpec = param(..., "what is computed", "user")
    kernels: KernelsSpec = KernelsSpec()
    engine: EngineSpec = EngineSpec()
    run: RunSpec = RunSpec()

    @model_validator(mode="after")
    def _sram_fits(self) -> "RunConfig":
        on = self.run.engine != "off" and self.kernels.sparse != SOFTWARE
        half_kib = self.gpu.l2.size_kib / 2
        if on and self.engine.sram_kib > half_kib:
            raise ValueError(
                f"engine: sib_kib + prefetch_buffer_kib = {self.engine.sram_kib:g} KiB do not fit the half of L2 that "
                f"the engine takes ({half_kib:g} KiB of gpu.l2.size_kib = {self.gpu.l2.size_kib})"
            )
        return self

    def resolved(self) -> dict[str, Any]:
        """Every value, as plain data."""
        return self.model_dump(mode="json")


class _GpuOnly(Spec):
    gpu: GpuSpec = param(..., "the GPU", "user")


def load_run(name: str, sets: Sequence[str] = ()) -> RunConfig:
    """The configuration of the run's file `name` with `--set` texts applied in order; raises UserError."""
    path = files.find(name)
    if path.parent == files.SHIPPED / GPU_FOLDER:
        raise UserError(f"{name}: is a GPU, not a run; name it in a run's file, or use --set gpu={path.stem}")
    return checked(RunConfig, layered(files.read(path), path, sets))


def load_gpu(name: str, sets: Sequence[str] = ()) -> GpuSpec:
    """A GPU by its file's path or shipped name; a run's file gives the GPU that it names; raises UserError."""
    path = files.find(name, GPU_FOLDER)
    data = files.read(path)
    gpu = data["gpu"] if "gpu" in data else str(path)
    return checked(_GpuOnly, layered({"gpu": gpu}, path, [s if s.startswith("gpu") else f"gpu.{s}" for s in sets])).gpu


def layered(data: Mapping[str, Any], path: Path, sets: Sequence[str]) -> Tree:
    """What the file `path` says, over the GPU it names, under `--set` texts applied in order; raises UserError."""
    tree = Tree(origins={(): (str(path), ())})
    sections = {key: ({} if value is None and key in RunConfig.model_fields else value) for key, value in data.items()}
    assignments = [(text, *parse_set(text)) for text in sets]
    gpu, gpu_source, beside = sections.pop("gpu", None), str(path), path
    for text, where, value in assignments:
        if where == ("gpu",):
            gpu, gpu_source, beside = value, f"--set {text}", Path("--set")
        elif where == ("gpu", "base"):
            held = dict(gpu) if isinstance(gpu, Mapping) else {}
            gpu, beside = {**held, "base": value}, Path("--set")
    tree.merge(sections, str(path))
    if gpu is not None:
        _lay_gpu(tree, gpu, gpu_source, ("gpu",), beside, ())
    for text, where, value in assignments:
        if where not in (("gpu",), ("gpu", "base")):
            tree.replace(where, value, f"--set {text}", ())
    return tree


def _lay_gpu(tree: Tree, gpu: Any, source: str, inside: tuple[str, ...], beside: Path, seen: tuple[Path, ...]) -> None:
    """Lay a GPU into the tree: a name of a file, or a mapping over its `base`."""
    if isinstance(gpu, str):
        path = files.find(gpu, GPU_FOLDER, beside)
        if path in seen:
            raise UserError(f"{path}: base: refers back to itself")
        _lay_gpu(tree, files.read(path), str(path), (), path, (*seen, path))
    elif isinstance(gpu, Mapping):
        values = dict(gpu)
        base = values.pop("base", None)
        if base is not None and not isinstance(base, str):
            raise UserError(f"{source}: {'.'.join((*inside, 'base'))}: must be the name of a GPU's file")
        if base is not None:
            _lay_gpu(tree, base, source, (*inside, "base"), beside, seen)
        tree.data.setdefault("gpu", {})
        tree.origins.setdefault(("gpu",), (source, inside))
        tree.merge(values, source, ("gpu",), inside)
    else:
        tree.replace(("gpu",), gpu, source, inside)
