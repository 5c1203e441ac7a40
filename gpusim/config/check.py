"""From a tree of values to a checked configuration, or one line that says what is wrong and where."""

import json
import re
import types
import typing
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gpusim.base.errors import UserError, nearest
from gpusim.config.tree import Tree

M = TypeVar("M", bound=BaseModel)

_ALLOWED = {
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "model_type": "must be a mapping of keys to values",
    "dict_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
}


def checked(model: type[M], tree: Tree) -> M:
    """The tree's data as a `model`; raises UserError that names source, path, value and what is allowed.

    Types are strict (true is no number, 1.5 no count); lists stand for tuples.
    """
    try:
        text = json.dumps(tree.data, default=str)
    except (ValueError, RecursionError):
        raise UserError(f"{tree.origin(())[0]}: a value contains itself, or is nested too deeply") from None
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise UserError(_one_line(model, tree, error)) from None


def fields_at(model: type[BaseModel], path: tuple[str, ...]) -> list[str]:
    """Names allowed inside the model that `path` leads to; empty where there is none."""
    here: Any = model
    for key in path:
        if typing.get_origin(here) is dict:
            here = _model_in(typing.get_args(here)[1])
            continue
        field = here.model_fields.get(key) if isinstance(here, type) and issubclass(here, BaseModel) else None
        mapping = field is not None and typing.get_origin(field.annotation) is dict
        here = None if field is None else field.annotation if mapping else _model_in(field.annotation)
    return list(here.model_fields) if isinstance(here, type) and issubclass(here, BaseModel) else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next((m for m in map(_model_in, typing.get_args(annotation)) if m), None)
    return None


def _one_line(model: type[BaseModel], tree: Tree, error: ValidationError) -> str:
    # an unknown key explains a missing one, so it is reported first
    errors = sorted(error.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")
    first = errors[0]
    # a union reports the name of the member it tried as a last path step: keep only steps that are keys
    path = tuple(str(step) for step in first["loc"])
    while path and first["type"] not in ("extra_forbidden", "missing") and not _exists(tree, path):
        path = path[:-1]
    source, inside = tree.origin(path)
    value = tree.get(path)
    kind, context = first["type"], dict(first.get("ctx", {}))
    if kind == "extra_forbidden":
        valid = fields_at(model, path[:-1])
        guess = nearest(path[-1], valid)
        what = "unknown key" + (f"; did you mean '{guess}'?" if guess else "")
        what += f" (allowed: {', '.join(valid)})" if valid else ""
    elif kind == "missing":
        what = "is required but missing"
    elif kind == "literal_error":
        names = re.findall(r"'([^']*)'", str(context.get("expected", ""))) or [str(context.get("expected"))]
        guess = nearest(str(value), names)
        what = f"{_shown(value)} is not allowed" + (f"; did you mean '{guess}'?" if guess else "")
        what += f" (allowed: {', '.join(names)})"
    elif kind == "value_error":
        # a rule over several values: also name what changed one of them
        changes = sorted({o[0] for p, o in tree.origins.items() if p[: len(path)] == path} - {source})
        what = str(context["error"]) + (f" (after {', '.join(changes)})" if changes else "")
    else:
        allowed = _ALLOWED.get(kind, "").format(**context) or first["msg"][:1].lower() + first["msg"][1:]
        what = f"{_shown(value)} is not allowed: {allowed}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{source}: {inside + ': ' if inside else ''}{what}{more}".replace("\n", " ")


def _exists(tree: Tree, path: tuple[str, ...]) -> bool:
    holder = tree.get(path[:-1]) if len(path) > 1 else tree.data
    return isinstance(holder, dict) and path[-1] in holder


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
