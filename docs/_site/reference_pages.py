"""Generated pages of the reference: commands, configuration keys, JSON Schema of results, Python API."""

import json
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import gpusim
from docs._site.pages import table
from gpusim.base.formats import GENERAL
from gpusim.base.spec import Spec
from gpusim.cli.lazy import CommandGroup
from gpusim.cli.main import all_sections, command_line
from gpusim.config.exec import ExecConfig
from gpusim.config.hip_run import HipSettings
from gpusim.config.network_run import NetworkSettings
from gpusim.config.run import RunConfig
from gpusim.config.sweep import SweepSpec
from gpusim.lab.training.spec import TrainPhaseSpec
from gpusim.model.core.sources import source_of
from gpusim.results.metrics import GROUPS, METRICS, SCHEMA_VERSION

CONFIGURATIONS = {
    "A run: `gpusim run`": RunConfig,
    "A kernel of your own: `gpusim exec`": ExecConfig,
    "A network: `gpusim net`": NetworkSettings,
    "A program: `gpusim hip`": HipSettings,
    "A sweep: `gpusim sweep`": SweepSpec,
    "A training as a whole: `gpusim train-phase`": TrainPhaseSpec,
}
LIMITS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "multiple_of": "multiple of"}


PAGES = ("commands", "configuration", "metrics", "instructions", "result-schema", "python")
"""Pages of the reference that have no file."""


def commands() -> str:
    """Every command with its arguments and options, from the command line itself."""
    parts = [
        "# Commands",
        "`gpusim COMMAND --help` prints the same. Commands by purpose: [how to](../how-to/README.md).",
    ]
    root = command_line()
    for title, entries in all_sections().items():
        parts.append(f"## {title}")
        for name, entry in entries.items():
            command = root.get_command(None, name)
            if isinstance(entry, CommandGroup):
                for below in sorted(entry.commands):
                    parts += _command(f"{name} {below}", command.get_command(None, below))
            else:
                parts += _command(name, command)
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if not p.opts[-1].startswith("-")]
    words = " ".join(p.metavar or p.name.upper() for p in arguments)
    yield f"### gpusim {name}"
    yield f"`gpusim {name} [OPTIONS] {words}`".replace(" `", "`")
    yield _escape(" ".join((command.help or "").split()))
    rows = []
    for parameter in command.params:
        if parameter.name == "help":
            continue
        option = parameter.opts[-1].startswith("-")
        written = (
            ", ".join(parameter.opts + parameter.secondary_opts) if option else parameter.metavar or parameter.name
        )
        value = parameter.metavar if option and not getattr(parameter, "is_flag", False) else None
        rows.append([f"`{written}{f' {value}' if value else ''}`", _escape(getattr(parameter, "help", "") or "")])
    if rows:
        yield table(["argument or option", "meaning"], rows)


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("[default", "\\[default").replace("*", "\\*")


def configuration() -> str:
    """Every key of every configuration: default, limits, meaning with unit, and the source of the default."""
    parts = [
        "# Configuration keys",
        "Each key can be set in a file or with `--set PATH=VALUE`. PATH is the heading with the key behind a dot: "
        "`gpu.l2.size_kib`. `gpusim show CONFIG --values` prints a configuration with its values and their sources. "
        "A source that says *fitted* or *assumed* is no measurement; "
        "[reports list those that mattered](../how-to/report.md#values-without-a-source).",
    ]
    seen: set[type[Spec]] = set()
    for title, spec in CONFIGURATIONS.items():
        parts.append(f"## {title}")
        for path, kind in _groups(spec, "", seen):
            if path:
                parts.append(f"### `{path}`")
            parts.append(" ".join((kind.__doc__ or "").split("\n\n")[0].split()))
            parts.append(table(["key", "default", "limits", "meaning", "source of the default"], list(_keys(kind))))
    return "\n\n".join(parts) + "\n"


def _groups(spec: type[Spec], path: str, seen: set[type[Spec]]) -> Iterator[tuple[str, type[Spec]]]:
    """Yield a Spec and those below it with their paths, each once on the page."""
    if spec in seen:
        return
    seen.add(spec)
    if any(not _specs(field.annotation) for field in spec.model_fields.values()):
        yield path, spec
    for name, field in spec.model_fields.items():
        for below in _specs(field.annotation):
            yield from _groups(below, f"{path}.{name}" if path else name, seen)


def _specs(annotation: Any) -> list[type[Spec]]:
    """Return the Specs that a field may have as its value."""
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return [annotation]
    if get_origin(annotation) in (dict, list, tuple):
        return []
    return [spec for part in get_args(annotation) for spec in _specs(part)]


def _keys(spec: type[Spec]) -> Iterator[list[str]]:
    for name, field in spec.model_fields.items():
        if _specs(field.annotation):
            continue
        default = "required" if field.is_required() else _value(field.get_default(call_default_factory=True))
        yield [
            f"`{name}`",
            default,
            _limits(field),
            _escape(field.description or ""),
            _escape(source_of(field)),
        ]


def _value(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return f"`{text}`" if len(text) <= 60 else f"`{text[:57]}…`"


def _limits(field: Any) -> str:
    limits = [(sign, getattr(one, key, None)) for key, sign in LIMITS.items() for one in field.metadata]
    said = [f"{sign} {GENERAL(limit)}" for sign, limit in limits if limit is not None]
    extra = field.json_schema_extra
    among = extra.get("among", []) if isinstance(extra, dict) else []
    literals = [value for value in get_args(field.annotation) if isinstance(value, str)]
    return ", ".join([*said, *(f"`{name}`" for name in among or literals)])


def schema() -> dict[str, Any]:
    """The JSON Schema of a result, from the metric table."""
    groups: dict[str, dict[str, Any]] = {}
    for metric in METRICS:
        group, _, name = metric.path.partition(".")
        what = metric.definition + (f" [{metric.unit}]" if metric.unit else "")
        kind: dict[str, Any] = {"type": ["number", "null"]} if metric.unit else {}
        place = groups.setdefault(group, {})
        if name:
            place[name] = {**kind, "description": what}
    properties: dict[str, Any] = {
        "schema_version": {"const": SCHEMA_VERSION},
        "kind": {"type": "string", "description": "kind of job"},
        "partial": {"type": "boolean", "description": "whether the run was stopped before its end"},
        "config": {"type": "object", "description": "the resolved configuration"},
        "launches": {"type": "array", "items": {"type": "object"}, "description": "the same groups for each launch"},
        "commands": {
            "type": "object",
            "description": "timed launches and copies of a network or program, as columns of equal lengths: times in"
            " nanoseconds, texts as places in `texts`, the stream's number,"
            " the launch's (0: a copy), bytes",
        },
    }
    for group in GROUPS:
        properties[group] = {"type": ["object", "null"], "properties": groups.get(group, {})}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Result of a gpusim run",
        "type": "object",
        "required": ["schema_version", "kind", "partial", "config"],
        "properties": properties,
    }


def schema_page() -> str:
    """The page on the JSON Schema."""
    return (
        f"# JSON Schema of results\n\n`gpusim run --json FILE` writes an object of schema version {SCHEMA_VERSION}. "
        "[result.schema.json](result.schema.json) is its JSON Schema, made from the metric table; "
        "[metrics](metrics.md) has the same definitions as tables. A group that does not apply is null. With two "
        "variants (`--engine both`) the object has the groups in `dense` and `sparse`, and ratios in `normalized`.\n"
    )


def python_api() -> str:
    """The public names of `gpusim`, which mkdocstrings reads from the code."""
    exported = gpusim._EXPORTED
    errors = [name for name in exported if name.endswith(("Error", "Fault"))]
    parts = [
        "# Python API",
        "The public names of the package `gpusim`; a [tutorial](../tutorials/kernel.md) uses them.",
    ]
    for title, names in (("Names", [n for n in exported if n not in errors]), ("Errors", errors)):
        parts.append(f"## {title}")
        parts += [f"::: {exported[name]}.{name}" for name in names]
    return "\n\n".join(parts) + "\n"
