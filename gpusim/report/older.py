"""Results that earlier versions wrote, as this version's: a network's object of schema 1, a run's or program's of 2."""

from collections.abc import Mapping
from typing import Any

from gpusim.base.errors import UserError
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
    if "layers" in document:
        return {**{k: v for k, v in document.items() if k != "layers"}, "kind": "net", **_body(document)}
    bodies = {name: _body(document[name]) for name in _MODES if document.get(name)}
    return {**document, "kind": "net", "normalized": {}, **bodies}


def _body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object of a network's variant: the metrics of the whole network on top, its layers as `rows`."""
    total = {name: value for name, value in body["total"].items() if name != "metrics"}
    return {
        **(body["total"].get("metrics") or {"kernel": {"cycles": body["total"].get("cycles")}}),
        "total": total,
        "rows": body["layers"],
        "verification": {"passed": body["verification"]["passed"]},
    }


def _program(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a HIP program's object with its totals by kernel as `rows`; for the whole program only sums are known."""
    timed = [kernel for kernel in document["kernels"] if kernel["cycles"] is not None]
    kernel = {
        "name": " + ".join(row["name"] for row in document["kernels"]),
        "cycles": sum(row["cycles"] for row in timed) if timed else None,
        "time_us": sum(row["time_us"] for row in timed) if timed else None,
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
        "total": {"launches": sum(r["launches"] for r in rows)},
    }
