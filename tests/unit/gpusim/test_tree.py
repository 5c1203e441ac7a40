"""Is a merged configuration what a plain recursive merge gives, and does each value know its source?"""

from copy import deepcopy

from hypothesis import strategies as st

from gpusim.config.tree import ConfigTree
from tests.support.daily import given_daily

KEYS = st.sampled_from(["a", "b", "c"])
NESTED = st.recursive(
    st.integers(0, 9) | st.none() | st.text("xy", max_size=2),
    lambda v: st.dictionaries(KEYS, v, max_size=3),
    max_leaves=8,
)
MAPPINGS = st.dictionaries(KEYS, NESTED, max_size=3)


def naive_merge(low: dict, high: dict) -> dict:
    out = deepcopy(low)
    for key, value in high.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = naive_merge(out[key], value) if both else deepcopy(value)
    return out


def naive_source(layers: list[dict], path: tuple[str, ...]) -> int:
    """The last layer that holds the path's value or replaced what holds it."""
    for number in range(len(layers) - 1, 0, -1):
        holder = layers[number]
        for key in path:
            if not isinstance(holder, dict) or key not in holder:
                break
            holder = holder[key]
        else:
            return number
    return 0


def paths(data: dict, prefix: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    for key, value in data.items():
        if isinstance(value, dict):
            yield from paths(value, (*prefix, key))
        else:
            yield (*prefix, key)


@given_daily(30, 100, st.lists(MAPPINGS, min_size=1, max_size=4))
def test_merge_equals_naive_merge_and_names_sources(layers: list[dict]) -> None:
    tree = ConfigTree()
    expected: dict = {}
    for number, layer in enumerate(layers):
        tree.merge(layer, f"file{number}")
        expected = naive_merge(expected, layer)
    assert tree.data == expected
    for path in paths(expected):
        assert tree.origin(path) == (f"file{naive_source(layers, path)}", ".".join(path))


@given_daily(30, 100, MAPPINGS, st.lists(KEYS, min_size=1, max_size=3), st.integers())
def test_replace_sets_exactly_one_value(data: dict, path: list[str], value: int) -> None:
    tree = ConfigTree()
    tree.merge(data, "file")
    tree.replace(tuple(path), value, "--set", ())
    assert tree.get(tuple(path)) == value
    assert tree.origin(tuple(path))[0] == "--set"


def test_merge_does_not_change_its_input() -> None:
    low = {"a": {"b": {"c": 1}}}
    tree = ConfigTree()
    tree.merge(low, "low")
    tree.merge({"a": {"b": {"c": 2}}}, "high")
    assert low == {"a": {"b": {"c": 1}}}
    assert tree.origin(("a", "b", "c")) == ("high", "a.b.c")
