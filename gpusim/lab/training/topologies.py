"""Graphs of GPUs, switches and the host, from what a file says of their topology."""

from math import isqrt
from typing import Any

import networkx

from gpusim.base.errors import UserError
from gpusim.lab.training.fabric import HOST, check_connected, gpu_name, link
from gpusim.lab.training.spec import TopologySpec
from gpusim.model.core.gpu_spec import GpuSpec


def build_graph(topology: TopologySpec, gpus: int, gpu: GpuSpec, where: str) -> Any:
    """Return the directed graph of the links (gpusim.lab.training.fabric); raises UserError where it is not connected.

    What the topology leaves open is the GPU's host link: bytes of data after the packets' overhead, and half of its
    latency at each end. where: the file, for errors.
    """
    host_link = gpu.host_link
    share = host_link.payload_bytes / (host_link.payload_bytes + host_link.overhead_bytes)
    host_gb_s, host_us = host_link.bandwidth_gb_s * share, host_link.latency_us
    gb_s = topology.gb_s if topology.gb_s is not None else host_gb_s
    latency_us = topology.latency_us if topology.latency_us is not None else host_us
    graph: Any = networkx.DiGraph()
    names = [gpu_name(number) for number in range(gpus)]
    graph.add_nodes_from([HOST, *names] if topology.kind != "edges" else [])
    if topology.kind == "edges":
        _own(graph, topology, where)
    elif topology.kind == "pcie_tree":
        _tree(graph, names, topology.ports, gb_s, latency_us)
    else:
        for one, other in _neighbours(topology.kind, gpus):
            link(graph, names[one], names[other], gb_s, latency_us)
    if gpus > 1 or topology.kind == "edges":
        check_connected(graph, names, f"{where}: topology")
    if HOST not in graph or not graph.degree(HOST):  # GPUs with links of their own are copied to over their host links
        for name in names:
            link(graph, HOST, name, host_gb_s, host_us)
    check_connected(graph, [HOST, *names], f"{where}: topology")
    return graph


def _tree(graph: Any, names: list[str], ports: int, gb_s: float, latency_us: float) -> None:
    """Hang GPUs below switches, switches below switches, and the last below the host; one GPU hangs there itself."""
    if len(names) == 1:
        link(graph, HOST, names[0], gb_s, latency_us)
        return
    level, below = 0, names
    while len(below) > 1:
        switches = [f"switch{level}.{number}" for number in range(-(-len(below) // ports))]
        for number, node in enumerate(below):
            link(graph, switches[number // ports], node, gb_s, 0.0 if level else latency_us / 2)
        level, below = level + 1, switches
    link(graph, HOST, below[0], gb_s, latency_us / 2)


def _neighbours(kind: str, gpus: int) -> list[tuple[int, int]]:
    """Return the pairs of GPUs that have a link: in a ring, or in a grid as square as their number allows.

    The grid is numbered to and fro, so that each GPU is a neighbour of the next one.
    """
    if kind == "ring":
        return sorted({(n, (n + 1) % gpus) if n + 1 < gpus else (0, n) for n in range(gpus)} - {(0, 0)})
    rows = next(count for count in range(isqrt(gpus), 0, -1) if not gpus % count)
    columns = gpus // rows
    numbers = {
        (row, column): row * columns + (column if row % 2 == 0 else columns - 1 - column)
        for row in range(rows)
        for column in range(columns)
    }
    right = [(at, numbers.get((at[0], at[1] + 1))) for at in numbers]
    down = [(at, numbers.get((at[0] + 1, at[1]))) for at in numbers]
    return [(numbers[at], other) for at, other in right + down if other is not None]


def _own(graph: Any, topology: TopologySpec, where: str) -> None:
    for number, edge in enumerate(topology.edges or ()):
        source, other = edge.between
        at = f"{where}: topology.edges.{number}: {source} to {other}"
        if source == other:
            raise UserError(f"{at}: a link has two nodes")
        if graph.has_edge(source, other):
            raise UserError(f"{at}: this link is there already; its bandwidth is the sum of both")
        link(graph, source, other, edge.gb_s, edge.latency_us)
