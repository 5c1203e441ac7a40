"""Blocks of layers in a YAML network: said once under `blocks`, used as often as a network repeats them.

A block is a list of layers. An entry of `layers` that names one with `block` in place of `kind` stands for these
layers: their names follow the entry's (`res2a` makes `res2a_conv1`), values that begin with `$` are the entry's own of
that name, `before` is what the block reads: the layer before the entry, or its `inputs`. With `times: 3` the block
comes three times, one after another, and the entry's name is numbered from 1 on. What follows a block reads its last
layer.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpusim.base.errors import UserError, unknown_name

BEFORE = "before"
MAX_TIMES = 1_000
_ENTRY_KEYS = ("name", "block", "times", "inputs")

LayerEntry = Mapping[str, Any]


def expanded(source: str, first: str, blocks: Mapping[str, Any], layers: Sequence[LayerEntry]) -> list[LayerEntry]:
    """Return the layers with every block in place of the entry that names it; raises UserError.

    first: the input that the first layer reads.
    """
    for title, inner in blocks.items():
        _check_block(f"{source}: blocks.{title}", inner)
    entries: list[LayerEntry] = []
    used: set[str] = set()
    for entry in layers:
        before = entries[-1].get("name") if entries else first
        # a layer's own value of this name is a number
        if "block" not in entry or ("kind" in entry and isinstance(entry["block"], int)):
            entries.append(entry)
            continue
        name: Any = entry.get("name")
        if not isinstance(name, str) or not name:
            raise UserError(f"{source}: layers: an entry with block: {entry['block']}: name: must be text")
        where = f"{source}: layer '{name}'"
        block = entry["block"]
        if "kind" in entry:
            raise UserError(f"{where}: block: a block stands in place of a layer, which has kind; only one is allowed")
        if block not in blocks:
            raise UserError(f"{where}: block: {unknown_name('block', str(block), blocks)}")
        used.add(block)
        entries += _repeated(where, entry, str(block), blocks[block], before)
    unused = [title for title in blocks if title not in used]
    if unused:
        raise UserError(f"{source}: blocks.{unused[0]}: no entry of layers names it")
    return entries


def _check_block(where: str, inner: Any) -> None:
    if not isinstance(inner, list) or not inner or not all(isinstance(one, Mapping) for one in inner):
        raise UserError(f"{where}: must be a list of layers, each with name and kind")
    names: list[str] = []
    for number, layer in enumerate(inner):
        name = layer.get("name")
        if not isinstance(name, str) or not name or name == BEFORE:
            said = f"{name!r} is not allowed" if name else "is required but missing"
            raise UserError(f"{where}: number {number + 1}: name: {said}; '{BEFORE}' is what the block reads")
        if name in names:
            raise UserError(f"{where}: '{name}' is the name of two layers")
        if "block" in layer and "kind" not in layer:
            raise UserError(f"{where}: '{name}': a block within a block is not possible")
        names.append(name)


def _repeated(
    where: str, entry: LayerEntry, block: str, inner: Sequence[LayerEntry], before: Any
) -> Iterator[LayerEntry]:
    """Yield the layers of an entry, as often as it says. before: the layer before it."""
    times = entry.get("times", 1)
    if not isinstance(times, int) or isinstance(times, bool) or not 1 <= times <= MAX_TIMES:
        raise UserError(f"{where}: times: {times!r} is not allowed: a whole number from 1 to {MAX_TIMES}")
    given = {key: value for key, value in entry.items() if key not in _ENTRY_KEYS}
    wanted = {text[1:] for layer in inner for text in _references(layer)}
    for key in given:
        if key not in wanted:
            raise UserError(f"{where}: {key}: {unknown_name(f'value of block {block}', key, sorted(wanted))}")
    for key in sorted(wanted):
        if key not in given:
            raise UserError(f"{where}: {key}: is required by block '{block}' but missing")
    before = entry.get("inputs", before)
    for number in range(times):
        prefix = f"{entry['name']}{number + 1}" if "times" in entry else entry["name"]
        yield from _one(prefix, inner, given, before)
        before = [f"{prefix}_{inner[-1]['name']}"]


def _references(value: Any) -> Iterator[str]:
    """Yield the texts in a layer's values that stand for the entry's values."""
    if isinstance(value, str) and value.startswith("$"):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


def _one(prefix: str, inner: Sequence[LayerEntry], given: LayerEntry, before: Any) -> Iterator[LayerEntry]:
    names = {layer["name"] for layer in inner}
    for number, layer in enumerate(inner):
        values = {key: _filled(value, given) for key, value in layer.items()}
        reads = values.pop("inputs", BEFORE if number == 0 else None)
        if reads is not None:
            reads = [reads] if isinstance(reads, str) else reads
            values["inputs"] = _inputs(reads, prefix, names, before)
        yield {**values, "name": f"{prefix}_{layer['name']}"}


def _inputs(reads: Any, prefix: str, names: set[str], before: Any) -> Any:
    """Return what a layer reads, by the names outside of the block; what is no list is left to who checks layers."""
    if not isinstance(reads, list):
        return reads
    inputs: list[Any] = []
    for name in reads:
        if name == BEFORE:
            inputs += before if isinstance(before, list) else [before]
        else:
            inputs.append(f"{prefix}_{name}" if name in names else name)
    return inputs


def _filled(value: Any, given: LayerEntry) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return given[value[1:]]
    if isinstance(value, Mapping):
        return {key: _filled(one, given) for key, one in value.items()}
    return [_filled(one, given) for one in value] if isinstance(value, list) else value
