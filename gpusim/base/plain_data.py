"""Checking plain data of a user's file against a type, before anything else reads it.

Data that pass have the form that the type describes, so that whatever fails afterwards is an error of the program.
A handler for KeyError or TypeError around a reader was refused: it calls the program's own errors damage of the file
(`tests/structure/test_handlers.py`).
"""

import json
import math
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from gpusim.base.errors import UserError

T = TypeVar("T")

_ALLOWED = {
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "none_required": "must be null",
    "missing_argument": "is required but missing",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "model_type": "must be a mapping of keys to values",
    "dict_type": "must be a mapping of keys to values",
    "dataclass_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "too_long": "must have at most {max_length} elements",
    "too_short": "must have at least {min_length} elements",
}
_SHOWN_LENGTH = 60  # characters of a value in a message


def allowed_values(kind: str, context: Mapping[str, Any], message: str) -> str:
    """Describe what is allowed instead of a value that was refused.

    Args:
        kind: pydantic's type of the error.
        context: limits that the error names.
        message: pydantic's words, for kinds that have none here.

    Returns:
        Words such as 'must be at least 1'.
    """
    return _ALLOWED.get(kind, "").format(**context) or message[:1].lower() + message[1:]


def shown_value(value: Any) -> str:
    """Return a value as JSON, cut to the length that a message has space for."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "..."


def read_json(path: Path, most_bytes: int | None = None) -> Any:
    """Read a JSON file.

    Args:
        path: the file.
        most_bytes: size beyond which a file is refused unread.

    Returns:
        Its content as plain data.

    Raises:
        UserError: the file cannot be read, is too large, or holds no JSON.
    """
    try:
        if most_bytes is not None and path.stat().st_size > most_bytes:
            raise UserError(f"{path}: is larger than {most_bytes >> 20} MiB: no result of gpusim's")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is no JSON: {error}") from None


def parse_as(kind: type[T], data: Any, source: str, hint: str = "") -> T:
    """Return plain data as an object of a type.

    Args:
        kind: dataclass, NamedTuple, TypedDict, or a container of them; field types decide what is allowed.
        data: plain data, as read from JSON.
        source: the file, for messages.
        hint: further words, such as which command writes a file of this form.

    Returns:
        The object; JSON's lists stand for tuples.

    Raises:
        UserError: the data are of another form; names the place, the value and what is allowed.
    """
    from pydantic import ValidationError

    end = f"; {hint}" if hint else ""
    if (found := _infinite_place(data)) is not None:
        raise UserError(f"{source}: {found}: NaN and infinities are not allowed{end}")
    try:
        text = json.dumps(data)
    except (ValueError, RecursionError):
        raise UserError(f"{source}: a value contains itself, or is nested too deeply") from None
    try:
        return cast(T, _adapter(cast(Hashable, kind)).validate_json(text, strict=True))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    place = ".".join(str(step) for step in _keys(data, first["loc"]))
    if first["type"] in ("missing", "missing_argument"):
        problem = "is required but missing"
    else:
        allowed = allowed_values(first["type"], first.get("ctx", {}), first["msg"])
        problem = f"{shown_value(first['input'])} is not allowed: {allowed}"
    raise UserError(f"{source}: {place + ': ' if place else ''}{problem}{end}")


def _keys(data: Any, steps: tuple[int | str, ...]) -> list[int | str]:
    """Return the steps of pydantic's path that are keys of the data; others name the member of a union."""
    keys: list[int | str] = []
    for number, step in enumerate(steps):
        if (isinstance(data, dict) and step in data) or (isinstance(data, list) and isinstance(step, int)):
            keys.append(step)
            data = data[step]  # type: ignore[index]
        elif isinstance(data, dict) and number == len(steps) - 1:  # the key that is missing
            keys.append(step)
    return keys


def _infinite_place(data: Any) -> str | None:
    """Return the path of the first number that is not finite; None without one."""
    if isinstance(data, float):
        return None if math.isfinite(data) else ""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list | tuple) else ()
    for key, value in items:
        if (inner := _infinite_place(value)) is not None:
            return f"{key}.{inner}".rstrip(".")
    return None


@cache
def _adapter(kind: Hashable) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cast(Any, kind))
