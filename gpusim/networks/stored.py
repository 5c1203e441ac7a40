"""A network's run in a store: what it is asked for, and what of its result goes into which table."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpusim.config.network_run import NetworkSettings
from gpusim.core.facts import combined
from gpusim.keeping.outcome import LaunchRow, Measured, Numbering, Outcome, State, Value, values_of
from gpusim.keeping.work import NetworkRows, Work, identity_of
from gpusim.networks.compare import document, markdown, show
from gpusim.networks.launches import LaunchClass
from gpusim.networks.modes import ModesRecord
from gpusim.networks.rows import rows_of
from gpusim.networks.run import NetworkRecord, Wanted
from gpusim.results import metrics
from workloads.networks.graph import Network


def work_of_network(
    network: Network, settings: NetworkSettings, wanted: Wanted, inputs: Path | None, writes: bool = False
) -> Work:
    """What `gpusim net` is asked for. inputs: file of arrays; writes: it writes arrays, and so is always run."""
    read = [inputs] if inputs is not None else []
    source = Path(network.source)
    if network.values is not None and source.is_file():
        read.append(source)  # holds the parameters
    asked = {
        "name": network.name,
        "phase": "train" if wanted.train else "inference",
        "batch": wanted.batch,
        "layers": wanted.layers,
        "data": wanted.data,
        "verify": wanted.verify,
        "timing": wanted.timing,
        "engine": wanted.engine,
    }
    rows = NetworkRows(
        network.name,
        network.source,
        identity_of(network.inputs, network.layers, network.input_gradients, network.remarks),
        [(layer.name, layer.kind_name) for layer in network.layers],
    )
    return Work(
        "net",
        f"{network.name}, {asked['phase']}, batch {wanted.batch}" + (f", {wanted.layers}" if wanted.layers else ""),
        {**settings.resolved(), "network": asked},
        read,
        settings.gpu.name,
        settings.seed,
        wanted.batch,
        str(asked["phase"]),
        rows,
        repeatable=not writes and (network.values is None or source.is_file()),
    )


def of_network(found: ModesRecord, exit_code: int) -> Outcome:
    """The outcome of a network's run: its JSON object, its tables as text, the metrics of launches, passes and all."""
    plain = io.StringIO()
    show(found, plain)
    content = {"document": document(found), "plain": plain.getvalue(), "markdown": markdown(found)}
    launches: list[LaunchRow] = []
    measured: list[Measured] = []
    for variant, record in found.variants.items():
        measured += _rows(record, variant)
        measured += _launches(record, variant, launches)
    state: State = "partial" if found.stopped_by else "done"
    return Outcome(content, state, exit_code, measured, launches)


def _rows(record: NetworkRecord, variant: str) -> Iterator[Measured]:
    """Of the whole network, and of each layer's pass."""
    rows = rows_of(record)
    known = [row.facts for row in rows if row.facts is not None]
    if known:
        yield Measured(_values(metrics.launch_tree(combined(known))), variant)
    for row in rows:
        if row.facts is not None:
            yield Measured(_values(row.metrics), variant, row.layer, str(row.what))


def _launches(record: NetworkRecord, variant: str, launches: list[LaunchRow]) -> Iterator[Measured]:
    """The metrics of the launches whose facts are known; all launches are added to `launches`, in order."""
    of_class: dict[LaunchClass, list[Value]] = {}
    numbered = Numbering()
    for result in record.steps:
        layer, what = result.step.layer, str(result.step.what)
        for number, one in enumerate(result.classes):
            if one in record.of_class:
                if one not in of_class:
                    of_class[one] = _values(metrics.launch_tree(record.of_class[one]))
                yield Measured(of_class[one], variant, layer, what, launch=len(launches))
            simulated = number in result.simulated
            launches.append(LaunchRow(variant, one.kernel, *numbered.next(one.kernel), layer, what, simulated))


def _values(tree: Mapping[str, Any]) -> list[Value]:
    return list(values_of({group: held for group, held in tree.items() if group != "stalls_by_compute_unit"}))
