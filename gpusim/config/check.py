"""From a tree of values to a checked configuration, or lines that say all that is wrong, and where."""

import difflib
import json
import math
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gpusim.base.errors import UserError, nearest
from gpusim.base.plain_data import allowed_values, shown_value
from gpusim.config.models import Steps, all_paths, keys, list_fields, list_table_names
from gpusim.config.renamed import rename_old_keys
from gpusim.config.tree import ConfigTree

M = TypeVar("M", bound=BaseModel)

MAX_PROBLEMS = 20  # listed at once

_SURE = 0.75  # likeness from which a wrong name is taken for a neighbour's misspelling, and not for one elsewhere


def checked(model: type[M], tree: ConfigTree) -> M:
    """Check a tree's data. Types are strict (true is no number, 1.5 no count); lists stand for tuples.

    Args:
        model: class of the configuration.
        tree: data, with the source of each value.

    Returns:
        The data as a `model`.

    Raises:
        UserError: a line for each problem: source, path, value, what is allowed, and the nearest valid name.
    """
    rename_old_keys(tree)
    try:
        text = json.dumps(tree.data, default=str)
    except (ValueError, RecursionError):
        raise UserError(f"{tree.origin(())[0]}: a value contains itself, or is nested too deeply") from None
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise UserError(*_problems(model, tree, error)) from None


def _problems(model: type[BaseModel], tree: ConfigTree, error: ValidationError) -> list[str]:
    # an unknown key explains a missing one, so it is reported first
    errors = sorted(error.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")
    numbers = {e["loc"][:-1] for e in errors if e["loc"][-1:] == ("float",)}  # where a whole number would do, too
    errors = [e for e in errors if not (e["loc"][-1:] == ("int",) and e["loc"][:-1] in numbers)]
    lines = list(dict.fromkeys(_one_line(model, tree, dict(e)) for e in errors))
    more = len(lines) - MAX_PROBLEMS
    return lines if more <= 0 else [*lines[:MAX_PROBLEMS], f"and {more} more"]


def _one_line(model: type[BaseModel], tree: ConfigTree, error: dict[str, Any]) -> str:
    # a union reports the name of the member it tried as a last path step: keep only steps that are keys
    path = keys(model, error["loc"], tree.data)
    while path and error["type"] not in ("extra_forbidden", "missing") and not _exists(tree, path):
        path = path[:-1]
    kind, context = error["type"], dict(error.get("ctx", {}))
    if kind == "union_tag_invalid":
        path, kind, context = (*path, "kind"), "literal_error", {"expected": context["expected_tags"]}
    source, inside = tree.origin(path)
    value = tree.get(path)
    if kind == "extra_forbidden" and path not in tree.origins:
        # one of what it holds was set, and made it
        source, inside = next((tree.origin(p) for p in tree.origins if p[: len(path)] == path), (source, inside))
    if kind == "extra_forbidden":
        valid = list_fields(model, path[:-1], tree.data)
        guess = _meant(model, path, tree, valid)
        what = "unknown key" + (f"; did you mean '{guess}'?" if guess else "")
        what += f" (allowed: {', '.join(valid)})" if valid else ""
    elif kind == "missing":
        what = "is required but missing"
    elif kind == "literal_error":
        names = re.findall(r"'([^']*)'", str(context.get("expected", ""))) or [str(context.get("expected"))]
        guess = nearest(str(value), names)
        what = f"{shown_value(value)} is not allowed" + (f"; did you mean '{guess}'?" if guess else "")
        what += f" (allowed: {', '.join(names)})"
    elif kind == "value_error":
        # a rule over several values: also name what changed one of them
        changes = sorted({o[0] for p, o in tree.origins.items() if p[: len(path)] == path} - {source})
        what = str(context["error"]) + (f" (after {', '.join(changes)})" if changes else "")
    else:
        if isinstance(value, float) and math.isnan(value):
            kind = "float_type"  # whatever limit it was compared with first
        what = f"{shown_value(value)} is not allowed: {allowed_values(kind, context, error['msg'])}"
    return f"{source}: {inside + ': ' if inside else ''}{what}".replace("\n", " ")


def option_problem(error: Any) -> str:
    """Say of an option's value what is allowed; error: pydantic's, whose words no user needs."""
    first = error.errors(include_url=False)[0]
    allowed = allowed_values(first["type"], first.get("ctx", {}), first["msg"])
    return f"{shown_value(first['input'])} is not allowed: {allowed}"


def _meant(model: type[BaseModel], path: Steps, tree: ConfigTree, valid: list[str]) -> str | None:
    """Return the name that an unknown key was probably meant to be: a valid key in its place, or a whole path
    elsewhere.

    A valid key is also meant if it alone takes the value. Of a mapping, its first key is followed, since `--set
    gpu.engine.sib_kib=8` makes one.
    """
    value = tree.get(path)
    beside = nearest(path[-1], valid)
    if beside is not None and _likeness(path[-1], beside) >= _SURE:
        return beside
    by_value = _key_that_takes(list_table_names(model, path[:-1], tree.data), value)
    if by_value is not None:
        return by_value
    whole = path
    while isinstance(value, dict) and value:
        first = next(iter(value))
        whole, value = (*whole, str(first)), value[first]
    known = [".".join(p) for p in all_paths(model)]
    text = ".".join(whole)
    ends = [p for p in known if p.rpartition(".")[2] == whole[-1]]
    if ends:
        return max(ends, key=lambda p: (_shared_end(whole, tuple(p.split("."))), _likeness(text, p)))
    if beside is None:
        found = difflib.get_close_matches(text, known, n=1, cutoff=_SURE)
        return found[0] if found else None
    return beside


def _key_that_takes(names: dict[str, list[str]], value: Any) -> str | None:
    """Return the only key whose table of names has the value or, if none has it, a name that is nearly equal."""
    if not isinstance(value, str):
        return None
    for meant in (value, nearest(value, {name for listed in names.values() for name in listed}, cutoff=0.8)):
        takers = [key for key, listed in names.items() if meant in listed]
        if takers:
            return takers[0] if len(takers) == 1 else None
    return None


def _likeness(left: str, right: str) -> float:
    return difflib.SequenceMatcher(None, left.lower(), right.lower()).ratio()


def _shared_end(left: Steps, right: Steps) -> int:
    """Count the steps that two paths have in common at their ends."""
    same = 0
    while same < min(len(left), len(right)) and left[-1 - same] == right[-1 - same]:
        same += 1
    return same


def _exists(tree: ConfigTree, path: Steps) -> bool:
    holder = tree.get(path[:-1]) if len(path) > 1 else tree.data
    if isinstance(holder, list):
        return path[-1].isdigit() and int(path[-1]) < len(holder)
    return isinstance(holder, dict) and path[-1] in holder
