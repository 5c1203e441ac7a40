"""Keys of earlier versions: each is read under its new name, with a notice, until the version that drops it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.progress import current_reporter
from gpusim.config.tree import ConfigTree, Path_


@dataclass(frozen=True)
class RenamedKey:
    """A key that has another name since a version."""

    old: str
    """End of its path."""
    new: str
    """End of the new path, which replaces the old end."""
    since: str
    """Version that renamed it."""
    dropped: str
    """Version that accepts the old name no more: the second minor version after, 0.4 at the earliest."""
    values: Mapping[Any, Any] | None = None
    """New value of each old one; None: values stay as they are."""


# from the changelogs of 0.1.2 to 0.2.0; nothing has been renamed since 0.2.0. One dispatcher became one for
# each shader engine: no value of the old interval means the same
RENAMED = (
    RenamedKey("dram.part", "dram.standard", since="0.1.2", dropped="0.4"),
    RenamedKey("cu.dispatch_interval_cycles", "dispatch.wavefront_cycles", since="0.1.2", dropped="0.4", values={}),
    RenamedKey("l2.hash_channels", "l2.channel_masks", since="0.1.3", dropped="0.4", values={False: None}),
    RenamedKey("l2.channel_hash_bits", "l2.channel_masks", since="0.2.0", dropped="0.4", values={0: None}),
    RenamedKey("dram.channel_hash_bits", "dram.channel_masks", since="0.2.0", dropped="0.4", values={0: None}),
    RenamedKey("dram.bank_hash", "dram.bank_masks", since="0.2.0", dropped="0.4", values={True: None}),
)


def rename_old_keys(tree: ConfigTree) -> None:
    """Move values of old keys to the new ones, and say so once for each.

    Args:
        tree: the configuration, changed in place.

    Raises:
        UserError: a line for each old key whose value has no counterpart, or that is given beside the new one.
    """
    problems = []
    old_keys = {tuple(key.old.split(".")): key for key in RENAMED}
    named = list(_find_named(tree.data, {old[-1] for old in old_keys}))
    for path, key in ((path, key) for path in named for old, key in old_keys.items() if path[-len(old) :] == old):
        source, inside = tree.origin(path)
        new = (*path[: -key.old.count(".") - 1], *key.new.split("."))
        name, value, is_given = ".".join(new), tree.get(path), _has(tree, new)
        where = f"{source}: {inside or '.'.join(path)}"
        if is_given and tree.origin(new)[0] == source:
            problems.append(f"{where}: is {name} since {key.since}, which is given too: leave one of them out")
        elif key.values is not None and not (isinstance(value, bool | int) and value in key.values):
            allowed = f", of {', '.join(map(str, key.values)).lower()} alone" if key.values else ""
            problems.append(f"{where}: is {name} since {key.since}, which has no counterpart of {value!r}{allowed}")
        else:
            tree.replace(new, value if key.values is None else key.values[value], source, tuple(inside.split(".")))
            current_reporter().say_once(
                f"gpusim: {where}: is {name} since {key.since}; version {key.dropped} will not accept the old name"
            )
        del tree.get(path[:-1])[path[-1]]
    if problems:
        raise UserError(*problems)


def _find_named(data: dict[Any, Any], names: set[str], at: Path_ = ()) -> Iterator[Path_]:
    """Yield the paths of all mappings' values that have one of some names."""
    for key, value in data.items():
        if key in names:
            yield (*at, key)
        if isinstance(value, dict):
            yield from _find_named(value, names, (*at, str(key)))


def _has(tree: ConfigTree, path: Path_) -> bool:
    holder = tree.get(path[:-1])
    return isinstance(holder, dict) and path[-1] in holder
