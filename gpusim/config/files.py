"""Finding and reading configuration files: a path, or the name of a file shipped in `sim_configs`."""

import re
from pathlib import Path
from typing import Any, cast

import yaml

from gpusim.base.errors import UserError, nearest

SHIPPED = Path(__file__).resolve().parents[2] / "sim_configs"


_BOOL_TAG = "tag:yaml.org,2002:bool"
_MAX_DEPTH = 100  # at some thousands libyaml's parser would overflow the stack


def _mapping_without_duplicates(loader: Any, node: yaml.MappingNode, deep: bool = False) -> dict:
    seen = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is not text", key_node.start_mark)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"key '{key}' is given twice", key_node.start_mark)
        seen.add(key)
    return cast(dict, loader.construct_mapping(node, deep=True))


def _as_people_write(base: Any) -> Any:
    """A loader for which a key given twice is an error, 1e9 is a number, `on` and `off` are words."""
    loader: Any = type("Loader", (base,), {})
    loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_duplicates)
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL_TAG]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    loader.add_implicit_resolver(_BOOL_TAG, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
    loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
    )
    return loader


_Loader: Any = _as_people_write(yaml.SafeLoader)
# libyaml's parser is several times faster; where PyYAML was built without it, Python's does
_FastLoader: Any = _as_people_write(getattr(yaml, "CSafeLoader", yaml.SafeLoader))


class _TooDeep(Exception):
    """Lists and mappings are nested deeper than `_MAX_DEPTH`."""


def _parse(text: str) -> Any:
    depth = 0
    try:
        for event in yaml.parse(text, _FastLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise _TooDeep
        return yaml.load(text, _FastLoader)
    except yaml.YAMLError:
        return yaml.load(text, _Loader)  # Python's parser says what is wrong in more words


def parse_value(text: str) -> Any:
    """One YAML value, as on the right of `--set path=value`; raises yaml.YAMLError."""
    try:
        return _parse(text)
    except (_TooDeep, RecursionError):
        raise yaml.YAMLError("nested too deeply") from None
    except ValueError as error:  # a date or a number that YAML's form allows and Python's does not
        raise yaml.YAMLError(str(error).splitlines()[0]) from None


def shipped(folder: str = "") -> list[str]:
    """Names of the configuration files shipped in `sim_configs/folder`."""
    return sorted(p.name for p in (SHIPPED / folder).glob("*.yaml"))


def find(name: str, folder: str = "", beside: Path | None = None) -> Path:
    """The file `name` means: a path (from here, or beside the file that names it), else a shipped file.

    A shipped file is found by its bare name or by its path in the repository, with or without `.yaml`.
    """
    asked = Path(name).expanduser()
    complete = asked.suffix in (".yaml", ".yml") or not asked.name  # '', '.' and '/' have no name to complete
    names = [asked] if complete else [asked.with_name(asked.name + ".yaml"), asked]
    places = [p for n in names for p in ((n, beside.parent / n) if beside else (n,))]
    for n in names:
        parts = n.parts[1:] if n.parts[:1] == ("sim_configs",) else n.parts
        inside = Path(*parts) if parts else n
        if not n.is_absolute() and ".." not in n.parts:
            places += [SHIPPED / folder / inside, SHIPPED / inside]
    for place in places:
        if place.is_file():
            return place
    known = [n.removesuffix(".yaml") if asked.suffix == "" else n for n in shipped(folder)]
    guess = nearest(asked.name, known)
    hint = f"; did you mean '{guess}'?" if guess else ""
    raise UserError(f"{name or repr(name)}: no such configuration file{hint} (shipped: {', '.join(known)})")


def read(path: Path) -> dict[str, Any]:
    """A configuration file's mapping; raises UserError with line and column of a syntax error."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        data = parse_value(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise UserError(f"{path}{where}: not valid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise UserError(f"{path}: a configuration is a mapping of keys to values, not {type(data).__name__}")
    return data
