"""Where a configuration's values come from: which of them are fitted, assumed or another GPU's rather than sourced."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpusim.base.spec import Spec
from memory.dram.spec import DramSpec
from memory.dram.standards import STANDARDS
from memory.dram.standards.standard import DramStandard

FITTED, ASSUMED, BORROWED, GIVEN = "fitted", "assumed", "another GPU's", "set"
# by what a source says, the first that it does; one that says none of it names where the value is from
_SAID = {"fitted": FITTED, "assumed": ASSUMED, "none found of GCN3": BORROWED}


@dataclass(frozen=True)
class ConfigurationValue:
    """A value of a configuration with its origin."""

    path: str
    """Path of the value."""
    value: Any
    """Value."""
    kind: str
    """Origin: fitted, assumed, another GPU's, or set by a file or `--set`; empty: from the cited source."""
    source: str
    """Source of the default, or of the DRAM standard's value."""


def values(spec: Spec, path: str = "", standard: DramStandard | None = None) -> Iterator[ConfigurationValue]:
    """Yield each value of a configuration, with the kind of its source; paths begin with `path`.

    Args:
        spec: The configuration.
        path: What paths begin with.
        standard: Standard of its DRAM; None: its own.
    """
    if isinstance(spec, DramSpec):
        standard = STANDARDS[spec.standard]
    for name, field in type(spec).model_fields.items():
        value, where = getattr(spec, name), f"{path}{name}"
        if isinstance(value, Spec):
            yield from values(value, f"{where}.", standard)
        elif value is None and standard is not None and name in standard.timing:
            tabled = standard.timing[name]
            yield ConfigurationValue(where, tabled.value, _kind(tabled.source), tabled.source)
        else:
            source = source_of(field)
            is_default = value == field.get_default(call_default_factory=True)
            yield ConfigurationValue(where, value, _kind(source) if is_default else GIVEN, source)


def source_of(field: Any) -> str:
    """Return the source that a Spec's field names for its default."""
    extra = field.json_schema_extra
    return str(extra.get("source", "")) if isinstance(extra, dict) else ""


def _kind(source: str) -> str:
    return next((kind for said, kind in _SAID.items() if said in source), "")
