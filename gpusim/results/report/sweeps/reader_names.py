"""Names of axes, metrics and values as a reader of a figure knows them: 'L2 hit rate', not 'l2.hit_rate'."""

from typing import Any

from gpusim.base.formats import is_number
from gpusim.results.report.sweeps.points import format_axis_value, unit_of

_KNOWN = {
    "kernel.cycles": "Cycles",
    "kernel.time_us": "Kernel time",
    "kernel.ipc": "Instructions per cycle",
    "dram.bytes": "DRAM traffic",
    "gpu.base": "GPU",
    "config": "Configuration",
    "variant": "Variant",
}
_UPPER = {
    word: word.upper() for word in ("l1", "l2", "lds", "dram", "sib", "gpu", "tlb", "mshr", "valu", "salu", "lru")
}
_UPPER |= {"cu": "CU", "cus": "CUs", "mshrs": "MSHRs", "m": "M", "n": "N", "k": "K"}
_DROPPED = ("gpu", "kernel", "workload", "arguments", "run", "value", "host")  # sections that say nothing to a reader
_UNITS = {"us": "µs"}
_ENDS = ("_kib", "_mib", "_bytes", "_ghz", "_cycles", "_us", "_gbps")


def reader_name(text: str, unit: bool = True) -> str:
    """Return the name of a path, a metric or a sum of such.

    Args:
        text: path or expression.
        unit: append the unit in brackets.

    Returns:
        The name, such as 'SIB + prefetch buffer (KiB)'.
    """
    words = [_name(word) if "." in word or word.isidentifier() else word for word in text.split()]
    name = " ".join(word if number == 0 else lowered(word) for number, word in enumerate(words))
    of = _UNITS.get(unit_of(text), unit_of(text)) if unit else ""
    return f"{name} ({of})" if of and of not in name.lower() else name


def reader_value(path: str, value: Any) -> str:
    """Return an axis with its value, as the title of a panel; names speak for themselves."""
    if not is_number(value) or isinstance(value, bool):
        is_flag = isinstance(value, bool)
        return f"{reader_name(path, unit=False)}: {format_axis_value(value)}" if is_flag else format_axis_value(value)
    unit = _UNITS.get(unit_of(path), unit_of(path))
    return f"{reader_name(path, unit=False)} = {format_axis_value(value)} {unit}".rstrip()


def _name(path: str) -> str:
    if path in _KNOWN:
        return _KNOWN[path]
    parts = path.split(".")
    kept = [part for part in parts if part not in _DROPPED] or parts[-1:]
    if kept[0] == "engine" and kept[-1].startswith(("sib", "prefetch")):
        kept = kept[1:]
    end = next((end for end in _ENDS if kept[-1].endswith(end)), "")
    words = " ".join([*kept[:-1], kept[-1].removesuffix(end)]).replace("_", " ").split()
    name = " ".join(_UPPER.get(word, word) for word in words)
    return name[:1].upper() + name[1:]


def lowered(name: str) -> str:
    """Return a name as it stands within a sentence."""
    return name if name[1:2].isupper() or name[1:2].isdigit() else name[:1].lower() + name[1:]
