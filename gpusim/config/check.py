"""From a tree of values to a checked configuration, or one line that says what is wrong and where."""

import json
import re
import types
import typing
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, Discriminator, Tag, ValidationError

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


def fields_at(model: type[BaseModel], path: tuple[str, ...], data: Any = None) -> list[str]:
    """Names allowed inside the model that `path` leads to; empty where there is none.

    data: the values under judgement, which say what kind a part of several kinds is.
    """
    found = _model_at(model, path, data)
    return list(found.model_fields) if found is not None else []


def _model_at(model: type[BaseModel], path: tuple[str, ...], data: Any) -> type[BaseModel] | None:
    here: Any = model
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
        here = _chosen(_annotation_in(here, key), data)
    return _model_in(here)


def _names_at(model: type[BaseModel], path: tuple[str, ...], data: Any) -> dict[str, list[str]]:
    """Of the keys that `fields_at` names, those whose value is one of a table of names: key → names."""
    found = _model_at(model, path, data)
    names: dict[str, list[str]] = {}
    for key, field in found.model_fields.items() if found is not None else ():
        extra = field.json_schema_extra
        among = extra.get("among") if isinstance(extra, dict) else None
        literal = typing.get_origin(field.annotation) is typing.Literal
        listed = among if isinstance(among, list) else typing.get_args(field.annotation) if literal else ()
        names[key] = [name for name in listed if isinstance(name, str)]
    return names


def _key_that_takes(names: dict[str, list[str]], value: Any) -> str | None:
    """The only key whose table of names has the value, or, if none has it, one that is nearly it."""
    if not isinstance(value, str):
        return None
    for meant in (value, nearest(value, {name for listed in names.values() for name in listed}, cutoff=0.8)):
        keys = [key for key, listed in names.items() if meant in listed]
        if keys:
            return keys[0] if len(keys) == 1 else None
    return None


def kinds_in(annotation: Any) -> dict[str, type[BaseModel]]:
    """Kind → model of an annotation whose values name their kind; empty for any other."""
    tagged = (typing.get_args(member) for member in typing.get_args(annotation))
    return {part.tag: args[0] for args in tagged for part in args[1:] if isinstance(part, Tag)}


def _annotation_in(holder: Any, key: str) -> Any:
    """What the value under `key` of a model or of a mapping may be; None for what is neither."""
    if typing.get_origin(holder) is dict:
        return typing.get_args(holder)[1]
    model = _model_in(holder)
    if model is None or key not in model.model_fields:
        return None
    return model.model_fields[key].rebuild_annotation()


def _chosen(annotation: Any, value: Any) -> Any:
    """The annotation, or of one with several kinds the model that `value` names."""
    if typing.get_origin(annotation) is not typing.Annotated:
        return annotation
    bare, *more = typing.get_args(annotation)
    naming = next((part.discriminator for part in more if isinstance(part, Discriminator)), None)
    return kinds_in(bare).get(str(naming(value))) if callable(naming) else bare


def _keys(model: type[BaseModel], steps: Sequence[str | int], data: Any) -> tuple[str, ...]:
    """The steps of an error's path that are keys of the data: pydantic names the kind of a value as a step, too."""
    here: Any = model
    path: list[str] = []
    skip = False
    for step in steps:
        if skip:
            skip = False
            continue
        path.append(str(step))
        data = data.get(step) if isinstance(data, dict) else None
        annotation = _annotation_in(here, str(step))
        here = _chosen(annotation, data)
        skip = here is not annotation and bool(kinds_in(typing.get_args(annotation)[0]))
    return tuple(path)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) is typing.Annotated:
        return _model_in(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next((m for m in map(_model_in, typing.get_args(annotation)) if m), None)
    return None


def _one_line(model: type[BaseModel], tree: Tree, error: ValidationError) -> str:
    # an unknown key explains a missing one, so it is reported first
    errors = sorted(error.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")
    first = errors[0]
    # a union reports the name of the member it tried as a last path step: keep only steps that are keys
    path = _keys(model, first["loc"], tree.data)
    while path and first["type"] not in ("extra_forbidden", "missing") and not _exists(tree, path):
        path = path[:-1]
    kind, context = first["type"], dict(first.get("ctx", {}))
    if kind == "union_tag_invalid":
        path, kind, context = (*path, "kind"), "literal_error", {"expected": context["expected_tags"]}
    source, inside = tree.origin(path)
    value = tree.get(path)
    if kind == "extra_forbidden":
        valid = fields_at(model, path[:-1], tree.data)
        guess = _key_that_takes(_names_at(model, path[:-1], tree.data), value) or nearest(path[-1], valid)
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
