"""An engine's configuration, by name or over another one, and what it must have in common with the GPU."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.formats import GENERAL
from gpusim.base.spec import Spec
from gpusim.config import files
from gpusim.config.check import checked
from gpusim.config.tree import ConfigTree, Path_, Sets, assignments
from gpusim.model.core.gpu_spec import GpuSpec
from spartan.engine_spec import EngineSpec

ENGINE_FOLDER = "engines"
ENGINE = ("engine",)


class _EngineOnly(Spec):
    engine: EngineSpec = EngineSpec()


def load_engine(given: files.Given, sets: Sets = ()) -> EngineSpec:
    """Load an engine.

    Args:
        given: a file's path, a shipped file's name, or a mapping such as a file holds.
        sets: `path=value` texts or a mapping of paths to values, applied in order. Paths may leave out `engine.`.

    Returns:
        The engine.

    Raises:
        UserError: the configuration is not valid; the message has a line for each problem.
    """
    document = files.opened(given, ENGINE_FOLDER, "engine")
    tree = ConfigTree(origins={(): (str(document.path), ())}, files=document.files)
    lay_engine(tree, document.data, str(document.path), (), document.path)
    for one in assignments(sets):
        path = one.path if one.path[:1] == ENGINE else (*ENGINE, *one.path)
        tree.replace(path, one.value, one.source, ())
    return checked(_EngineOnly, tree).engine


def lay_engine(
    tree: ConfigTree, engine: Any, source: str, inside: Path_, beside: Path, seen: tuple[Path, ...] = ()
) -> None:
    """Lay an engine into the tree: a name of a file, or a mapping over its `base`.

    Args:
        inside: The engine's path in `source`.
        beside: The file next to which others are looked for.
        seen: The files that led here.
    """
    if isinstance(engine, str):
        path = files.find(engine, ENGINE_FOLDER, beside)
        if path in seen:
            raise UserError(f"{path}: base: refers back to itself")
        lay_engine(tree, tree.read(path), str(path), (), path, (*seen, path))
        return
    if not isinstance(engine, Mapping):
        tree.replace(ENGINE, engine, source, inside)
        return
    values = dict(engine)
    base = values.pop("base", None)
    if base is not None and not isinstance(base, str):
        raise UserError(f"{source}: {'.'.join((*inside, 'base'))}: must be the name of an engine's file")
    if base is not None:
        lay_engine(tree, base, source, (*inside, "base"), beside, seen)
    tree.data.setdefault("engine", {})
    tree.origins.setdefault(ENGINE, (source, inside))
    tree.merge(values, source, ENGINE, inside)


def check_share(gpu: GpuSpec, engine: EngineSpec) -> None:
    """Check that an engine fits its share of L2. Without a share, its memories are SRAM of their own, of any size.

    Args:
        gpu: the GPU.
        engine: the engine.

    Raises:
        ValueError: L2 cannot give the share, or the engine's memories exceed it.
    """
    try:
        taken_kib = gpu.l2.size_kib - gpu.l2.cache_kib(engine.l2_taken)
    except ValueError as error:
        raise ValueError(f"engine.l2_share: {error}") from None
    if engine.l2_share and engine.sram_kib > taken_kib:
        data = f" + {GENERAL(engine.data_buffer_kib)} of data buffers" if engine.data_buffers_in_l2 else ""
        share = f"{GENERAL(taken_kib)} KiB: l2_share {GENERAL(engine.l2_share)} of gpu.l2.size_kib = {gpu.l2.size_kib}"
        sizes = f"sib_kib + prefetch_buffer_kib{data} = {GENERAL(engine.sram_kib)} KiB"
        raise ValueError(f"engine: {sizes} do not fit the part of L2 that the engine takes ({share})")
