"""A GPU's configuration, and how files and `--set` are laid over one another."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from gpusim.base.errors import UserError
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.engine import ENGINE, lay_engine
from gpusim.config.models import collect_kinds
from gpusim.config.tree import Assignment, ConfigTree, Sets, assignments
from gpusim.model.core.gpu_spec import GpuSpec

S = TypeVar("S", bound=Spec)

GPU_FOLDER = "gpus"
DEFAULT_GPU = "r9nano"  # of a run or an execution whose file names none, and of commands without --gpu
DRAM_FOLDER = "dram"
_FOLDERS_OF_JOBS = ("", "examples")  # whose files name a GPU
STANDARD = ("gpu", "dram", "standard")
STANDARD_KEYS = ("standard", "pin_rate_gbps", "organization", "timing")


class _GpuOnly(Spec):
    gpu: GpuSpec = param(..., "the GPU", "user")


def load_gpu(given: files.Given, sets: Sets = ()) -> GpuSpec:
    """Load a GPU.

    Args:
        given: a file's path, a shipped file's name, or a mapping such as a file holds. The file of a run or of an
            execution gives the GPU that it names.
        sets: `path=value` texts or a mapping of paths to values, applied in order. Paths may leave out `gpu.`.

    Returns:
        The GPU.

    Raises:
        UserError: the configuration is not valid; the message has a line for each problem.
    """
    return load_over_gpu(files.opened(given, GPU_FOLDER, "gpu"), sets, _GpuOnly).gpu


def gpus_that_run(architectures: Iterable[str]) -> list[str]:
    """List the shipped GPUs that execute code of one of some architectures, by the names that `--gpu` takes."""
    wanted = set(architectures)
    names = [Path(name).stem for name in files.shipped(GPU_FOLDER)]
    return [name for name in names if load_gpu(name).architecture in wanted]


def load_over_gpu(gpu: files.Document, sets: Sets, of: type[S], prefixed: bool = True) -> S:
    """Load settings that begin with a GPU over the GPU's file, which may be that of a run; raise UserError.

    prefixed: paths in `sets` that begin with no section of the settings are the GPU's own.
    """
    laid = assignments(sets)
    if prefixed:
        laid = [a if a.path[0] in of.model_fields else replace(a, path=("gpu", *a.path)) for a in laid]
    of_job = files.find_config_folder(gpu) in _FOLDERS_OF_JOBS
    own = gpu.data.get("gpu", DEFAULT_GPU if of_job else gpu)
    return checked(of, layered(replace(gpu, data={"gpu": own}), laid, of))


def layered(document: files.Document, laid_over: Sequence[Assignment], of: type[Spec]) -> ConfigTree:
    """Lay a configuration's values over the GPU and engine that it names, and further values over them.

    The GPU of a file that names none, or leaves it empty, is DEFAULT_GPU.

    Args:
        document: the configuration.
        laid_over: further values, applied in order.
        of: the configuration's class; a section of it that the file leaves empty has its defaults.

    Returns:
        The merged data.

    Raises:
        UserError: a file that it names is missing or not valid.
    """
    path = document.path
    tree = ConfigTree(origins={(): (str(path), ())}, files=document.files)
    sections = {key: ({} if value is None and _is_section(of, key) else value) for key, value in document.data.items()}
    gpu, gpu_source, beside = sections.pop("gpu", DEFAULT_GPU) or DEFAULT_GPU, str(path), path
    engine, engine_source, engine_beside = sections.pop("engine", None), str(path), path
    for a in laid_over:
        if a.path == ("gpu",):
            gpu, gpu_source, beside = a.value, a.source, Path("--set")
        elif a.path == ("gpu", "base"):
            values = dict(gpu) if isinstance(gpu, Mapping) else {}
            gpu, beside = {**values, "base": a.value}, Path("--set")
        elif a.path == ENGINE:
            engine, engine_source, engine_beside = a.value, a.source, Path("--set")
        elif a.path == (*ENGINE, "base"):
            values = dict(engine) if isinstance(engine, Mapping) else {}
            engine, engine_beside = {**values, "base": a.value}, Path("--set")
    tree.merge(sections, str(path))
    _lay_gpu(tree, gpu, gpu_source, ("gpu",), beside, ())
    if engine is not None:
        lay_engine(tree, engine, engine_source, () if engine_beside == Path("--set") else ENGINE, engine_beside)
    for a in laid_over:
        if a.path == STANDARD and _is_file(a.value):
            _lay_standard(tree, {"dram": {"standard": a.value}}, Path("--set"))
        elif a.path not in (("gpu",), ("gpu", "base"), ENGINE, (*ENGINE, "base")):
            tree.replace(a.path, a.value, a.source, ())
    return tree


def _is_file(standard: Any) -> bool:
    """Tell whether `dram.standard` names a file rather than a standard."""
    return isinstance(standard, str) and standard.endswith((".yaml", ".yml"))


def _lay_standard(tree: ConfigTree, gpu: dict[str, Any], beside: Path) -> None:
    """Lay the file that `dram.standard` names under the rest of `dram`: a standard, and values that replace its own."""
    dram = gpu.get("dram")
    if not isinstance(dram, Mapping) or not _is_file(dram.get("standard")):
        return
    gpu["dram"] = {key: value for key, value in dram.items() if key != "standard"}
    path = files.find(dram["standard"], DRAM_FOLDER, beside)
    values = tree.read(path)
    wrong = sorted(set(values) - set(STANDARD_KEYS))
    if wrong or _is_file(values.get("standard")):
        raise UserError(
            f"{path}: a DRAM standard's file has {', '.join(STANDARD_KEYS)}, the first one the name of a standard"
            + (f"; not {', '.join(wrong)}" if wrong else "")
        )
    tree.merge(values, str(path), ("gpu", "dram"))


def _is_section(of: type[Spec], key: str) -> bool:
    kind = of.model_fields[key].annotation if key in of.model_fields else None
    return (isinstance(kind, type) and issubclass(kind, Spec)) or bool(collect_kinds(kind))


def _lay_gpu(
    tree: ConfigTree, gpu: Any, source: str, inside: tuple[str, ...], beside: Path, seen: tuple[Path, ...]
) -> None:
    """Lay a GPU into the tree: a whole configuration, a name of a file, or a mapping over its `base`."""
    if isinstance(gpu, files.Document):
        _lay_gpu(tree, gpu.data, str(gpu.path), (), gpu.path, (*seen, gpu.path))
    elif isinstance(gpu, str):
        path = files.find(gpu, GPU_FOLDER, beside)
        if path in seen:
            raise UserError(f"{path}: base: refers back to itself")
        _lay_gpu(tree, files.Document(path, tree.read(path)), "", (), path, seen)
    elif isinstance(gpu, Mapping):
        values = dict(gpu)
        base = values.pop("base", None)
        if base is not None and not isinstance(base, str):
            raise UserError(f"{source}: {'.'.join((*inside, 'base'))}: must be the name of a GPU's file")
        if base is not None:
            _lay_gpu(tree, base, source, (*inside, "base"), beside, seen)
        tree.data.setdefault("gpu", {})
        tree.origins.setdefault(("gpu",), (source, inside))
        _lay_standard(tree, values, beside)
        tree.merge(values, source, ("gpu",), inside)
    else:
        tree.replace(("gpu",), gpu, source, inside)
