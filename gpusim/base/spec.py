"""Base of every unit's specification: what a configuration may say, with unit, meaning and source."""

from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError


class Spec(BaseModel):
    """Immutable, typed, and strict: an unknown key, a value out of range or a name not in its table is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*")
    @classmethod
    def _is_in_its_table(cls, value: Any, info: ValidationInfo) -> Any:
        extra = cls.model_fields[str(info.field_name)].json_schema_extra
        names = extra.get("among") if isinstance(extra, dict) else None
        if isinstance(names, list) and value not in names:
            expected = ", ".join(f"'{name}'" for name in names)
            raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": expected})
        return value


def param(default: Any, meaning: str, source: str, among: Collection[str] | None = None, **limits: Any) -> Any:
    """A configuration value: its default, what it means (with its unit), where the default comes from.

    among: the names that a text may be, such as the rows of a table of policies. `limits` are pydantic's: ge, gt, le,
    lt, multiple_of. `source` names a manual, data sheet, paper or page, or says "assumed" and why.
    """
    extra: dict[str, Any] = {"source": source}
    if among is not None:
        extra["among"] = list(among)
    return Field(default, description=meaning, json_schema_extra=extra, **limits)
