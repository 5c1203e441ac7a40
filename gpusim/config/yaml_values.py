"""YAML as people write it: a key given twice is an error, 1e9 is a number, `on` and `off` are words.

What is no configuration is refused before it costs memory or time: aliases that name one another stand for as many
values as their expansion has.
"""

import contextlib
import pickle
import re
from functools import lru_cache
from typing import Any, cast

import yaml

MAX_VALUES = 100_000  # of a file, its aliases expanded: a hundred times the largest configuration
MAX_DEPTH = 100  # at some thousands libyaml's parser would overflow the stack
_BOOL_TAG, _MERGE_TAG = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:merge"


def _expanded(node: yaml.Node, known: dict[int, int]) -> int:
    """Count the values in a node, each alias as what it stands for; one that contains itself counts as too many."""
    if id(node) not in known:
        known[id(node)] = MAX_VALUES + 1  # met again before it is known: within itself
        below: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            below = [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            below = node.value
        known[id(node)] = 1 + sum(_expanded(part, known) for part in below)
    return known[id(node)]


def _mapping_without_duplicates(loader: Any, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    seen = set()
    for key_node, _ in node.value:
        if key_node.tag == _MERGE_TAG:  # `<<: *name`: PyYAML merges, and keys of the mapping's own take precedence
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is not text", key_node.start_mark)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"key '{key}' is given twice", key_node.start_mark)
        seen.add(key)
    return cast(dict[Any, Any], loader.construct_mapping(node, deep=True))


def _as_people_write(base: Any) -> Any:
    """Return a loader class with this module's rules."""

    def get_single_node(self: Any) -> yaml.Node | None:
        root = base.get_single_node(self)
        if root is not None and _expanded(root, {}) > MAX_VALUES:
            raise yaml.composer.ComposerError(
                None, None, f"more than {MAX_VALUES} values, aliases counted as what they stand for", root.start_mark
            )
        return cast("yaml.Node | None", root)

    loader: Any = type("Loader", (base,), {"get_single_node": get_single_node})
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


def _is_nested_too_deeply(text: str) -> bool:
    depth = 0
    with contextlib.suppress(yaml.YAMLError):  # loading will say so
        for event in yaml.parse(text, _FastLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                return True
    return False


def parse_value(text: str) -> Any:
    """Parse one YAML value, as in a file or on the right of `--set path=value`; raise yaml.YAMLError."""
    return pickle.loads(_parsed(text))


@lru_cache(maxsize=64)
def _parsed(text: str) -> bytes:
    """Return the value, pickled so that each caller gets a copy: the points of a sweep read the same files."""
    try:
        if _is_nested_too_deeply(text):
            raise yaml.YAMLError(f"nested more than {MAX_DEPTH} deep")
        try:
            return pickle.dumps(yaml.load(text, _FastLoader))
        except yaml.YAMLError:
            return pickle.dumps(yaml.load(text, _Loader))  # Python's parser says what is wrong in more words
    except RecursionError:
        raise yaml.YAMLError(f"nested more than {MAX_DEPTH} deep") from None
    except (ValueError, OverflowError) as error:  # a date or a number that YAML's form allows and Python's does not
        raise yaml.YAMLError(str(error).splitlines()[0]) from None


def one_line(error: yaml.YAMLError) -> tuple[str, str]:
    """Return ':line:column' where the error has a place, else '', and the problem."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return "", (str(error).splitlines() or ["not readable"])[0]
    mark = error.problem_mark
    return (f":{mark.line + 1}:{mark.column + 1}" if mark else ""), str(error.problem or error.context)
