"""A network's run in a store: what it is asked for, and what of its result goes into which table."""

import io
from collections.abc import Iterator
from pathlib import Path

from gpusim.config.network_run import NetworkSettings
from gpusim.networks.compare import document, markdown, show
from gpusim.networks.launches import LaunchClass
from gpusim.networks.modes import ModesRecord
from gpusim.networks.rows import Rows, metrics_of
from gpusim.networks.run import NetworkRecord, Wanted
from gpusim.store.outcome import LaunchRow, Measured, Numbering, Outcome, State, Value, values_of
from gpusim.store.work import NetworkRows, Work, identity_of
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
        identity_of_network(network),
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


def identity_of_network(network: Network) -> str:
    """The same for the same layers and shapes."""
    return identity_of(network.inputs, network.layers, network.input_gradients, network.remarks)


def of_network(found: ModesRecord, exit_code: int) -> Outcome:
    """The outcome of a network's run: its JSON object, its tables as text, the metrics of launches, passes and all."""
    plain = io.StringIO()
    show(found, plain)
    content = {"document": document(found), "plain": plain.getvalue(), "markdown": markdown(found)}
    launches: list[LaunchRow] = []
    measured: list[Measured] = []
    for variant, record in found.variants.items():
        measured += of_rows(record.rows, variant)
        measured += of_launches(record, variant, launches, Numbering())
    state: State = "partial" if found.stopped_by else "done"
    return Outcome(content, state, exit_code, measured, launches)


def of_rows(rows: Rows, variant: str) -> Iterator[Measured]:
    """Metrics of the whole network, and of each layer's pass."""
    if rows.metrics:
        yield Measured(list(values_of(rows.metrics)), variant)
    for row in rows:
        if row.metrics:
            yield Measured(list(values_of(row.metrics)), variant, row.layer, str(row.what))


def of_launches(
    record: NetworkRecord, variant: str, launches: list[LaunchRow], numbered: Numbering
) -> Iterator[Measured]:
    """The metrics of the launches whose facts are known; all launches are added to `launches`, in order.

    numbered: of the variant, whose launches several records may have.
    """
    # a row of one launch has that launch's metrics
    alone = {row.steps[0].classes[0]: row.metrics for row in record.rows if row.metrics and row.launches == 1}
    of_class: dict[LaunchClass, list[Value]] = {}
    for result in record.steps:
        layer, what = result.step.layer, str(result.step.what)
        for number, one in enumerate(result.classes):
            if one in record.of_class:
                if one not in of_class:
                    of_class[one] = list(values_of(alone.get(one) or metrics_of(record.of_class[one])))
                yield Measured(of_class[one], variant, layer, what, launch=len(launches))
            simulated = number in result.simulated
            launches.append(LaunchRow(variant, one.kernel, *numbered.next(one.kernel), layer, what, simulated))
