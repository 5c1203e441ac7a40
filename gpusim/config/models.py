"""Walking through configuration classes by the paths of a configuration's values."""

import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, Discriminator, Tag

Steps = tuple[str, ...]


def list_fields(model: type[BaseModel], path: Steps, data: Any = None) -> list[str]:
    """List the names allowed inside the model that `path` leads to; empty where there is none.

    data: the values under judgement, which name the kind of a part that has several kinds.
    """
    found = _model_at(model, path, data)
    return list(found.model_fields) if found is not None else []


def list_table_names(model: type[BaseModel], path: Steps, data: Any) -> dict[str, list[str]]:
    """Return, for those keys of `list_fields` whose values come from a table of names, the names: key → names."""
    found = _model_at(model, path, data)
    names: dict[str, list[str]] = {}
    for key, field in found.model_fields.items() if found is not None else ():
        extra = field.json_schema_extra
        among = extra.get("among") if isinstance(extra, dict) else None
        literal = typing.get_origin(field.annotation) is typing.Literal
        listed = among if isinstance(among, list) else typing.get_args(field.annotation) if literal else ()
        names[key] = [name for name in listed if isinstance(name, str)]
    return names


def step_into(value: Any, key: str) -> Any:
    """Return what a mapping has under a key, or a list at a place; None where there is nothing."""
    if isinstance(value, list) and key.isdigit():
        return value[int(key)] if int(key) < len(value) else None
    return value.get(key) if isinstance(value, dict) else None


def collect_kinds(annotation: Any) -> dict[str, type[BaseModel]]:
    """Return kind → model of an annotation whose values name their kind; empty for any other."""
    tagged = (typing.get_args(member) for member in typing.get_args(annotation))
    return {part.tag: args[0] for args in tagged for part in args[1:] if isinstance(part, Tag)}


def _collect_named_kinds(annotation: Any, name: str) -> dict[str, type[BaseModel]]:
    """Return kind → model of a union whose models have their kind as the literal of a field."""
    models = [member for member in typing.get_args(annotation) if hasattr(member, "model_fields")]
    return {kind: model for model in models for kind in typing.get_args(model.model_fields[name].annotation)}


def all_paths(model: type[BaseModel], prefix: Steps = ()) -> Iterator[Steps]:
    """Yield the path of every value and section that a configuration may have, with those of every kind of a part.

    Args:
        model: class of the configuration.
        prefix: path of the section.

    Returns:
        Paths.
    """
    for name, field in model.model_fields.items():
        path = (*prefix, name)
        yield path
        annotation = field.annotation
        for inside in (*collect_kinds(annotation).values(), *filter(None, (_model_in(annotation),))):
            yield from all_paths(inside, path)


def keys(model: type[BaseModel], steps: Sequence[str | int], data: Any) -> Steps:
    """Return the steps of an error's path that are keys of the data; pydantic names the kind of a value as a
    step, too.
    """
    here: Any = model
    path: list[str] = []
    skip = False
    for step in steps:
        if skip:
            skip = False
            continue
        path.append(str(step))
        data = step_into(data, str(step))
        annotation = _annotation_in(here, str(step))
        here = _chosen(annotation, data)
        skip = _discriminator(annotation) is not None
    return tuple(path)


def _model_at(model: type[BaseModel], path: Steps, data: Any) -> type[BaseModel] | None:
    here: Any = model
    for key in path:
        data = step_into(data, key)
        here = _chosen(_annotation_in(here, key), data)
    return _model_in(here)


def _annotation_in(holder: Any, key: str) -> Any:
    """Return the annotation of the value under `key` of a model, a mapping or a list; None for any other holder."""
    if typing.get_origin(holder) is dict:
        return typing.get_args(holder)[1]
    if typing.get_origin(holder) in (tuple, list):
        return typing.get_args(holder)[0]
    model = _model_in(holder)
    if model is None or key not in model.model_fields:
        return None
    field = model.model_fields[key]
    if isinstance(field.discriminator, str):
        return typing.Annotated[field.annotation, Discriminator(field.discriminator)]
    return field.rebuild_annotation()


def _discriminator(annotation: Any) -> Any:
    """Return by what the values of an annotation name their kind; None where there is one kind."""
    more = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is typing.Annotated else ()
    return next((part.discriminator for part in more if isinstance(part, Discriminator)), None)


def _chosen(annotation: Any, value: Any) -> Any:
    """Return the annotation or, if it has several kinds, the model of the kind that `value` names."""
    naming = _discriminator(annotation)
    bare = typing.get_args(annotation)[0] if typing.get_origin(annotation) is typing.Annotated else annotation
    if isinstance(naming, str):
        return _collect_named_kinds(bare, naming).get(str(step_into(value, naming)))
    return collect_kinds(bare).get(str(naming(value))) if callable(naming) else bare


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) is typing.Annotated:
        return _model_in(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next((m for m in map(_model_in, typing.get_args(annotation)) if m), None)
    return None
