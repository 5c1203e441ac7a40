"""A checked configuration as YAML with each value's meaning and source beside it."""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from gpusim.base.formats import GENERAL
from gpusim.base.spec import Spec
from gpusim.model.core.sources import source_of

COMMENT_COLUMN = 34


def annotated(spec: Spec) -> str:
    """Write all values of `spec` as YAML that reads back to an equal one; comments say meaning [source]."""
    return "\n".join(_lines(spec, "", None)) + "\n"


def _lines(spec: Spec, indent: str, holder: Spec | None) -> Iterator[str]:
    for name, field in type(spec).model_fields.items():
        value = getattr(spec, name)
        if isinstance(value, Spec):
            yield f"{indent}{name}:" + (f" # {field.description}" if field.description else "")
            yield from _lines(value, indent + "  ", spec)
            continue
        meaning, source = _table_value(holder, name, value, field.description or "", source_of(field))
        text = f"{indent}{name}: {_scalar(value)}"
        comment = meaning + (f" [{source}]" if source else "")
        yield f"{text.ljust(COMMENT_COLUMN)} # {comment}" if comment else text


def _table_value(holder: Spec | None, name: str, value: Any, meaning: str, source: str) -> tuple[str, str]:
    """Return meaning and source of a value; for a DRAM value left to the standard's table, the table's value and
    source.
    """
    from memory.dram.spec import DramSpec
    from memory.dram.standards import STANDARDS
    from memory.dram.timing import ORGANIZATION

    if value is not None or not isinstance(holder, DramSpec):
        return meaning, source
    standard = STANDARDS[holder.standard]
    if name in standard.timing:
        shown, source = GENERAL(standard.timing[name].value), standard.timing[name].source
    elif name in ORGANIZATION:
        shown, source = _scalar(getattr(standard, name)), standard.organization_source
    elif name in type(holder.timing).model_fields:
        shown, source = "none", "not in this standard"
    else:
        return meaning, source
    return meaning.replace("null: the standard's", f"the standard's: {shown}"), source


def _scalar(value: Any) -> str:
    if isinstance(value, Spec | dict | list | tuple):
        return json.dumps(value, default=lambda part: part.model_dump(mode="json", exclude_defaults=True))
    text = yaml.safe_dump(value, default_flow_style=True, width=1 << 16, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")
