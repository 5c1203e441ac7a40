"""Base of every unit's specification: what a configuration may say, with unit, meaning and source."""

from collections.abc import Collection
from typing import Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError


class Spec(BaseModel):
    """Immutable, typed, and strict: an unknown key, a value out of range or a name not in its table is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _one_of(names: list[str]) -> AfterValidator:
    def check(value: Any) -> Any:
        if value not in names:
            expected = ", ".join(f"'{name}'" for name in names)
            raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": expected})
        return value

    return AfterValidator(check)


def param(default: Any, meaning: str, source: str, among: Collection[str] | None = None, **limits: Any) -> Any:
    """Declare a configuration value.

    Args:
        default: its default; ...: it must be given.
        meaning: what it is, with its unit.
        source: manual, data sheet, paper or page of the default, or "assumed" and why.
        among: names that a text may be, such as the rows of a table of policies.
        limits: pydantic's: ge, gt, le, lt, multiple_of.

    Returns:
        The field's declaration.
    """
    extra: dict[str, Any] = {"source": source}
    if among is not None:
        extra["among"] = list(among)
    field = Field(default, description=meaning, json_schema_extra=extra, **limits)
    if among is not None:
        field.metadata.append(_one_of(list(among)))
    return field
