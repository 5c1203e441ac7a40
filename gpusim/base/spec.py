"""Base of every unit's specification: what a configuration may say, with unit, meaning and source."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Spec(BaseModel):
    """Immutable, typed, and strict: an unknown key or a value out of range is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def param(default: Any, meaning: str, source: str, **limits: Any) -> Any:
    """A configuration value: its default, what it means (with its unit), where the default comes from.

    `limits` are pydantic's: ge, gt, le, lt, multiple_of. `source` names a manual, data sheet, paper or page,
    or says "assumed" and why.
    """
    return Field(default, description=meaning, json_schema_extra={"source": source}, **limits)
