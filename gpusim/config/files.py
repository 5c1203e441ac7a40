"""Finding and reading configurations: a path, the name of a file shipped in `sim_configs`, or a mapping from Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from pydantic import BaseModel

from gpusim.base.errors import UserError, nearest
from gpusim.config.yaml_values import MAX_VALUES, one_line, parse_value

SHIPPED = Path(__file__).resolve().parents[2] / "sim_configs"
MAX_BYTES = 1 << 18  # of a file: the largest shipped one has 8 KiB
MAX_DEPTH = 50


class ConfigurationNotFoundError(UserError):
    """No file of the user's has the name, and no shipped one in the folder that was asked for."""


@dataclass(frozen=True)
class Document:
    """A configuration document as it was given."""

    path: Path
    """Path of its file; relative names in the document start from its folder."""
    data: dict[str, Any]
    """Contents."""
    files: list[Path] = field(default_factory=list)
    """All files read for it."""


# what a function that loads a configuration takes
Given = str | Path | Mapping[str, Any] | Document


class ConfigFolder(NamedTuple):
    """A folder of shipped files: the kind of these files, and their use."""

    what: str
    """Kind of the files."""
    use: str
    """How a command uses one; braces stand for its name."""


FOLDERS = {
    "": ConfigFolder("a run", "gpusim run {name}"),
    "examples": ConfigFolder("the execution of one kernel", "gpusim exec {name}"),
    "gpus": ConfigFolder("a GPU", "gpusim show {name}, or --set gpu={name} for a run"),
    "engines": ConfigFolder("a compaction engine", "gpusim show {name}, or --set engine={name} for a run"),
    "dram": ConfigFolder("a DRAM standard", "--set gpu.dram.standard={name}"),
    "measured": ConfigFolder("a table of measured points", "gpusim correlate {name}"),
    "networks": ConfigFolder("a network", "gpusim layers {name}"),
    "reproductions": ConfigFolder("a publication to reproduce", "gpusim reproduce {name}"),
    "storage": ConfigFolder("a storage", "--storage {name} of gpusim train-phase"),
    "sweeps": ConfigFolder("a sweep", "gpusim sweep {name}"),
    "topologies": ConfigFolder("a topology of GPUs", "--set topology={name} of gpusim train-phase"),
    "trainings": ConfigFolder("a training", "gpusim train-phase {name}"),
}
# keys that only files of one folder have, by which a file is recognised wherever it lies
_TELLING = {
    "trainings": {"dataset", "storage", "preprocess", "queues", "snapshot", "all_reduce"},
    "storage": {"read_mb_s", "write_mb_s", "disks"},
    "topologies": {"edges", "ports"},
    "reproductions": {"paths", "figures", "comparisons"},
    "sweeps": {"axes"},
    "examples": {"code_object", "global_size", "local_size", "arguments", "dynamic_lds_bytes"},
    "measured": {"points", "card"},
    "": {"workload", "kernels", "engine"},
    "engines": {"sib_kib", "prefetch_buffer_kib", "compaction_units", "shifters", "l2_share"},
    "gpus": {"base", "cus_per_array", "shader_arrays", "clock_ghz", "memory_mib", "cu", "l1", "l2"},
    "dram": {"standard", "organization"},
    "networks": {"input", "layers"},
}


def opened(given: Given, folder: str = "", argument: str = "config", also: Sequence[str] = ()) -> Document:
    """Open a configuration.

    Args:
        given: a file's path, a shipped file's name, or a mapping such as a file holds.
        folder: folder of shipped files.
        argument: the parameter's name in errors.
        also: further folders of shipped files.

    Returns:
        Its data and where they come from.

    Raises:
        UserError: there is no such file, or it is no YAML mapping.
    """
    if isinstance(given, Document):
        return given
    if isinstance(given, Mapping):
        return Document(Path("configuration"), plain(given, "configuration"))
    if not isinstance(given, str | Path):
        raise UserError(f"{argument}: a file's path or name or a mapping is needed, not {type(given).__name__}")
    path = find(str(given), folder, also=also)
    return Document(path, read(path), [path])


def find_config_folder(document: Document) -> str | None:
    """Return the one of FOLDERS that the configuration would belong in; None where its keys do not tell."""
    return next((folder for folder, keys in _TELLING.items() if keys & set(document.data)), None)


def require(document: Document, folder: str) -> None:
    """Check that a configuration is of the kind that a command reads.

    Args:
        document: the configuration.
        folder: folder of the kind.

    Raises:
        UserError: it is of another kind; the message says what to do with it.
    """
    found = find_config_folder(document)
    if found not in (folder, None):
        raise UserError(f"{document.path}: {_elsewhere(found, folder, str(document.path))}")


def _elsewhere(found: str, wanted: str, name: str) -> str:
    use = FOLDERS[found].use.format(name=name)
    return f"is {FOLDERS[found].what}, not {FOLDERS[wanted].what}: use {use}"


def shipped(folder: str = "") -> list[str]:
    """List the names of the configuration files shipped in `sim_configs/folder`."""
    return sorted(p.name for p in (SHIPPED / folder).glob("*.yaml"))


def find(name: str, folder: str = "", beside: Path | None = None, also: Sequence[str] = ()) -> Path:
    """Find a configuration's file.

    Args:
        name: a path, or the bare name of a shipped file or its path in the repository, with or without `.yaml`.
        folder: folder of shipped files.
        beside: the file that names it, next to which it may lie.
        also: further folders of shipped files.

    Returns:
        The path.

    Raises:
        UserError: there is none.
    """
    folders = (folder, *also)
    try:
        given = Path(name).expanduser()
    except RuntimeError as error:  # '~nobody'
        raise UserError(f"{name}: {error}") from None
    complete = given.suffix in (".yaml", ".yml") or not given.name  # '', '.' and '/' have no name to complete
    names = [given] if complete else [given.with_name(given.name + ".yaml"), given]
    places = [p for n in names for p in ((n, beside.parent / n) if beside else (n,))]
    for n in names:
        parts = n.parts[1:] if n.parts[:1] == ("sim_configs",) else n.parts
        inside = Path(*parts) if parts else n
        if not n.is_absolute() and ".." not in n.parts:
            places += [*(SHIPPED / each / inside for each in folders), SHIPPED / inside]
    for place in places:
        if _is_readable(place):
            return place
    for other in FOLDERS:
        if other not in folders and any(n.name in shipped(other) for n in names):
            raise ConfigurationNotFoundError(f"{name}: {_elsewhere(other, folder, name)}")
    ending = given.suffix and ".yaml"
    stems = [n.removesuffix(".yaml") for each in folders for n in shipped(each)]
    guess = nearest(given.name.removesuffix(given.suffix), stems, cutoff=0.6)
    known, hint = [stem + ending for stem in stems], f"; did you mean '{guess}{ending}'?" if guess else ""
    raise ConfigurationNotFoundError(
        f"{name or repr(name)}: no such configuration file{hint} (shipped: {', '.join(known)})"
    )


def _is_readable(place: Path) -> bool:
    """Tell whether there is a file, or a pipe as a shell's `<(...)` is one."""
    try:
        return place.is_file() or place.is_fifo()
    except (OSError, ValueError):  # a name that is too long, or that no file can have
        return False


def read(path: Path) -> dict[str, Any]:
    """Read a configuration file's mapping; raise UserError with line and column of a syntax error."""
    try:
        with path.open("rb") as file:
            contents = file.read(MAX_BYTES + 1)
        if contents.startswith(b"\x7fELF"):
            raise UserError(
                f"{path}: is a code object, not a configuration: use gpusim disasm {path}, or name it in the"
                " code_object of a file for gpusim exec"
            )
        if path.suffix not in ("", ".yaml", ".yml"):
            _refuse_source(path)
        if len(contents) > MAX_BYTES:
            raise UserError(f"{path}: a configuration has at most {MAX_BYTES >> 10} KiB; this file has more")
        text = contents.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        data = parse_value(text)
    except yaml.YAMLError as error:
        where, what = one_line(error)
        raise UserError(f"{path}{where}: not valid YAML: {what}") from None
    if data is None:
        raise UserError(f"{path}: is empty: a configuration is a mapping of keys to values")
    if not isinstance(data, dict):
        what = {str: "text", list: "a list", bool: "true or false"}.get(type(data), "one value")
        raise UserError(f"{path}: a configuration is a mapping of keys to values, not {what}")
    return data


def _refuse_source(path: Path) -> None:
    """Raise UserError for a kernel's source, which says what is made of it."""
    from workloads.toolchain.build import LANGUAGE_FLAGS

    if path.suffix in LANGUAGE_FLAGS:
        raise UserError(
            f"{path}: is a kernel's source, not a configuration: gpusim kernels build {path} makes a code object of it,"
            " to be named in the code_object of a file for gpusim exec"
        )


def plain(value: Any, where: str) -> Any:
    """Convert a value from Python to what YAML would have: mappings with texts as keys, lists, numbers, texts.

    Args:
        value: may contain NumPy's numbers and arrays, paths, tuples and specifications.
        where: the value's name in errors.

    Returns:
        Plain data.

    Raises:
        UserError: a value has no such form, contains itself, or is too large for a configuration.
    """
    return _plain(value, where, 0, [MAX_VALUES])


def _plain(value: Any, where: str, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if depth > MAX_DEPTH or left[0] < 0:
        raise UserError(f"{where[:80]}: a value contains itself, or is nested too deeply, or is too large")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist(), where, depth + 1, left)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        wrong = [key for key in value if not isinstance(key, str)]
        if wrong:
            raise UserError(f"{where}: key {wrong[0]!r} is not text")
        return {key: _plain(held, f"{where}.{key}", depth + 1, left) for key, held in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(held, where, depth + 1, left) for held in value]
    raise UserError(f"{where}: a value of type {type(value).__name__} has no place in a configuration")
