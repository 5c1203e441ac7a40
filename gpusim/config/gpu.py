"""A GPU's configuration, and how files and `--set` are laid over one another."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.spec import Spec, param
from gpusim.config import files
from gpusim.config.check import checked, kinds_in
from gpusim.config.tree import Tree, parse_set
from gpusim.core.gpu_spec import GpuSpec

GPU_FOLDER = "gpus"
DRAM_FOLDER = "dram"
STANDARD = ("gpu", "dram", "standard")
STANDARD_KEYS = ("standard", "pin_rate_gbps", "organization", "timing")


class _GpuOnly(Spec):
    gpu: GpuSpec = param(..., "the GPU", "user")


def load_gpu(name: str, sets: Sequence[str] = ()) -> GpuSpec:
    """A GPU by its file's path or shipped name; a run's file gives the GPU that it names; raises UserError."""
    path = files.find(name, GPU_FOLDER)
    data = files.read(path)
    gpu = data["gpu"] if "gpu" in data else str(path)
    inside = [text if text.startswith("gpu") else f"gpu.{text}" for text in sets]
    return checked(_GpuOnly, layered({"gpu": gpu}, path, inside, _GpuOnly)).gpu


def layered(data: Mapping[str, Any], path: Path, sets: Sequence[str], of: type[Spec]) -> Tree:
    """What the file `path` says, over the GPU it names, under `--set` texts applied in order; raises UserError.

    of: the configuration's class; a section of it that the file leaves empty has its defaults.
    """
    tree = Tree(origins={(): (str(path), ())})
    sections = {key: ({} if value is None and _is_section(of, key) else value) for key, value in data.items()}
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
        if where == STANDARD and _is_file(value):
            _lay_standard(tree, {"dram": {"standard": value}}, Path("--set"))
        elif where not in (("gpu",), ("gpu", "base")):
            tree.replace(where, value, f"--set {text}", ())
    return tree


def _is_file(standard: Any) -> bool:
    """Whether `dram.standard` names a file and not a standard."""
    return isinstance(standard, str) and standard.endswith((".yaml", ".yml"))


def _lay_standard(tree: Tree, gpu: dict[str, Any], beside: Path) -> None:
    """Lay the file that `dram.standard` names under the rest of `dram`: a standard, and what replaces its values."""
    dram = gpu.get("dram")
    if not isinstance(dram, Mapping) or not _is_file(dram.get("standard")):
        return
    gpu["dram"] = {key: value for key, value in dram.items() if key != "standard"}
    path = files.find(dram["standard"], DRAM_FOLDER, beside)
    values = files.read(path)
    wrong = sorted(set(values) - set(STANDARD_KEYS))
    if wrong or _is_file(values.get("standard")):
        raise UserError(
            f"{path}: a DRAM standard's file has {', '.join(STANDARD_KEYS)}, the first one the name of a standard"
            + (f"; not {', '.join(wrong)}" if wrong else "")
        )
    tree.merge(values, str(path), ("gpu", "dram"))


def _is_section(of: type[Spec], key: str) -> bool:
    kind = of.model_fields[key].annotation if key in of.model_fields else None
    return (isinstance(kind, type) and issubclass(kind, Spec)) or bool(kinds_in(kind))


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
        _lay_standard(tree, values, beside)
        tree.merge(values, source, ("gpu",), inside)
    else:
        tree.replace(("gpu",), gpu, source, inside)
