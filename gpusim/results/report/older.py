"""Results that earlier versions wrote, as this version's: a network's object of schema 1, a run's or program's of 2."""

from collections.abc import Mapping
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.sums import plain_sum
from gpusim.results import metrics

_NETWORK_SCHEMA, _RUN_SCHEMA = 1, 2
_MODES = ("dense", "sparse")  # variants of a network's run, by the names that its object gave them


def upgraded(document: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    """Return an older object in this version's form; raises UserError for a version that is not supported."""
    version = document.get("schema_version")
    if version == metrics.SCHEMA_VERSION:
        return document
    if version == _NETWORK_SCHEMA and "network" in document:
        return _network(document)
    if version == _RUN_SCHEMA and "network" not in document:
        return _program(document) if "kernels" in document else {**document, "kind": _kind(document["config"])}
    raise UserError(
        f"{source}: has schema_version {version}; this version of gpusim reads {metrics.SCHEMA_VERSION}, and"
        f" {_NETWORK_SCHEMA} of networks, {_RUN_SCHEMA} of runs"
    )


def _kind(config: Mapping[str, Any]) -> str:
    return "run" if "workload" in config else "exec"


def _network(document: Mapping[str, Any]) -> dict[str, Any]:
    choices = {(one["name"], one["pass"]): _choice(one) for one in document.get("algorithms") or ()}
    head = {name: value for name, value in document.items() if name not in ("data", "engine", "layers")}
    head |= {"kind": "net", "values": document.get("data")}  # `data` and `engine` are groups of metrics
    head["engine_mode"] = document.get("engine", "off")
    if "layers" in document:
        return {**head, **_body(document, choices)}
    bodies = {name: _body(document[name], choices) for name in _MODES if document.get(name)}
    return {**head, "normalized": {}, **bodies}


def _choice(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return how an algorithm was chosen, as of a kernel."""
    return {"kernel": chosen["algorithm"], "cycles": chosen["cycles"], "at_least": chosen["at_least_cycles"]}


def _body(body: Mapping[str, Any], choices: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    """Return the metrics of the whole network where those of any run stand, and its rows by that name.

    What multiply-accumulates are needed the first of them did not say: those of the definition.
    """
    total = {name: value for name, value in body["total"].items() if name != "metrics"}
    return {
        **(body["total"].get("metrics") or {"kernel": {"cycles": body["total"].get("cycles")}}),
        "total": total,
        "rows": [_layer(row, choices.get((row["name"], row["pass"]))) for row in body["layers"]],
        "verification": {"passed": body["verification"]["passed"]},
    }


def _layer(row: Mapping[str, Any], choice: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the row of a layer's pass; of one that skips zeros no algorithm was chosen."""
    said = {} if choice is None or row.get("zeros") else {"choice": choice}
    return {"needed_macs": row["macs"], **row, **said}


def _program(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a HIP program's object with its totals by kernel as `rows`; for the whole program only sums are known."""
    timed = [kernel for kernel in document["kernels"] if kernel["cycles"] is not None]
    kernel = {
        "name": " + ".join(row["name"] for row in document["kernels"]),
        "cycles": plain_sum(row["cycles"] for row in timed) if timed else None,
        "time_us": plain_sum(row["time_us"] for row in timed) if timed else None,
        "wavefront_instructions": sum(row["wavefront_instructions"] for row in document["kernels"]),
        "workgroups": sum(row["workgroups"] for row in document["kernels"]),
    }
    rows = [
        {
            **row,
            "simulated_launches": row["timed"],
            "verification": {"passed": None},
            "bound": None if row["bound"] is None else {"name": row["bound"], "utilization": None},
        }
        for row in document["kernels"]
    ]
    held = {name: value for name, value in document.items() if name != "kernels"}
    return {
        **held,
        "kind": "hip",
        "kernel": kernel,
        "rows": rows,
        "total": {
            "rows": len(rows),
            "launches": sum(row["launches"] for row in rows),
            "simulated_launches": sum(row["timed"] for row in rows),
            "cycles": kernel["cycles"],
            "time_us": kernel["time_us"],
        },
    }
