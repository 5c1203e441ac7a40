"""DNNMark's benchmarks in a store: what they are asked for, and what of their results goes into which table."""

import io

from gpusim.config.network_run import NetworkSettings
from gpusim.networks.dnnmark import BENCHMARKS, FOLDER, NAME, Benchmarks, benchmark, document, markdown, show
from gpusim.networks.stored import identity_of_network, of_launches, of_rows
from gpusim.store.outcome import LaunchRow, Measured, Numbering, Outcome
from gpusim.store.work import NetworkRows, Work, identity_of


def work_of_benchmarks(settings: NetworkSettings, batch: int, size: int) -> Work:
    """What `gpusim net --dnnmark` is asked for: a network whose layers are the benchmarks; raises UserError."""
    networks = [benchmark(name, batch, size) for name in BENCHMARKS]
    layers = [(layer.name, layer.kind_name) for network in networks for layer in network.layers]
    rows = NetworkRows(NAME, FOLDER, identity_of([identity_of_network(network) for network in networks]), layers)
    asked = {"name": NAME, "phase": "train", "batch": batch, "size": size}
    return Work(
        "net",
        f"{NAME}, train, batch {batch}, {size} rows and columns",
        {**settings.resolved(), "network": asked},
        (),
        settings.gpu.name,
        settings.seed,
        batch,
        "train",
        rows,
    )


def of_benchmarks(found: Benchmarks, exit_code: int) -> Outcome:
    """The outcome: the JSON object, the tables as text, metrics of launches, of each benchmark's passes, of all."""
    plain = io.StringIO()
    show(found, plain)
    content = {"document": document(found), "plain": plain.getvalue(), "markdown": markdown(found)}
    launches: list[LaunchRow] = []
    measured: list[Measured] = [*of_rows(found.rows, "")]
    numbered = Numbering()
    for record in found.records.values():
        measured += of_launches(record, "", launches, numbered)
    return Outcome(content, "partial" if found.stopped_by else "done", exit_code, measured, launches)
