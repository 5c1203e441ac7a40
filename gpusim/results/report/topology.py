"""The machine of a configuration as a graph: who is connected with whom, and how wide."""

from typing import TYPE_CHECKING

import networkx as nx

from gpusim.base.errors import UserError
from gpusim.base.formats import GENERAL
from gpusim.model.core.levels import CU
from isa.trace import LINE_BYTES

if TYPE_CHECKING:
    from gpusim.model.core.gpu_spec import GpuSpec
    from spartan.engine_spec import EngineSpec


def build(gpu: "GpuSpec", engine: "EngineSpec | None" = None) -> nx.DiGraph:
    """Build a directed graph of the units, with edges in the direction of a read request.

    Node attributes: `kind`, `what`; edge attribute: `bytes_per_cycle` (core cycles) that the way back can carry.
    """
    graph = nx.DiGraph(name=gpu.name)
    graph.add_node("dispatcher", kind="dispatcher", what="workgroups to compute units, in turn over shader arrays")
    for cu in range(gpu.cus):
        graph.add_node(f"cu{cu}", kind="cu", what=f"shader array {cu // gpu.cus_per_array}")
        graph.add_edge("dispatcher", f"cu{cu}")
    ports = 0
    levels = [level for level in gpu.levels if level.port]
    for level in levels:
        cache = getattr(gpu, level.section)
        below = next((between for between in levels if level.section in between.takes), None)
        ports += gpu.caches_of(level.owner) * (below is None)
        for number in range(gpu.caches_of(level.owner)):
            name, array = f"{level.section}.{number}", number // gpu.cus_per_array if level.owner == CU else number
            graph.add_node(name, kind=level.section, what=f"{cache.size_kib} KiB, {cache.ways}-way")
            target = "crossbar" if below is None else f"{below.section}.{array}"
            graph.add_edge(name, target, bytes_per_cycle=LINE_BYTES)
            users = [number] if level.owner == CU else range(array * gpu.cus_per_array, (array + 1) * gpu.cus_per_array)
            if not level.takes:
                graph.add_edges_from(((f"cu{cu}", name) for cu in users), bytes_per_cycle=LINE_BYTES)
    graph.add_node("crossbar", kind="crossbar", what=f"{ports} x {gpu.l2.channels} ports")
    drams = [f"dram{channel}" for channel in range(gpu.dram.channels)]
    dram_bytes_per_cycle = gpu.dram.bytes_per_s / gpu.clock_hz / gpu.dram.channels
    for dram in drams:
        graph.add_node(dram, kind="dram", what=gpu.dram.standard)
    taken = None if engine is None else engine.l2_taken
    l2_kib, (_, l2_ways) = gpu.l2.cache_kib(taken), gpu.l2.sets_and_ways(taken)
    if engine is not None:
        graph.add_node("engine", kind="engine", what=f"{engine.compaction_units} compaction units")
        for dram in drams:
            graph.add_edge("engine", dram, bytes_per_cycle=dram_bytes_per_cycle)
    for channel in range(gpu.l2.channels):
        l2 = f"l2.{channel}"
        graph.add_node(l2, kind="l2", what=f"{GENERAL(l2_kib / gpu.l2.channels)} KiB, {l2_ways}-way")
        graph.add_edge("crossbar", l2, bytes_per_cycle=LINE_BYTES)
        for dram in drams:
            graph.add_edge(l2, dram, bytes_per_cycle=dram_bytes_per_cycle)
        if engine is not None:
            graph.add_edge(l2, "engine", bytes_per_cycle=LINE_BYTES)
    return graph


def list_units(graph: nx.DiGraph, kind: str) -> list[str]:
    """Return the names of the units of one kind."""
    return [name for name, data in graph.nodes(data=True) if data["kind"] == kind]


def check_reach(graph: nx.DiGraph) -> None:
    """Raise UserError unless every compute unit reaches every DRAM channel through L1 and through the scalar cache."""
    channels = set(list_units(graph, "dram"))
    for cu in list_units(graph, "cu"):
        for kind in ("l1", "scalar_cache"):
            caches = [unit for unit in graph.successors(cu) if graph.nodes[unit]["kind"] == kind]
            missing = channels.difference(*(nx.descendants(graph, cache) for cache in caches))
            if missing:
                raise UserError(f"{graph.name}: {cu} does not reach {', '.join(sorted(missing))} through its {kind}")


def bandwidth_bytes_per_cycle(graph: nx.DiGraph) -> float:
    """Return the maximum flow: the most bytes per core cycle that can move from DRAM to the compute units."""
    flow = nx.DiGraph()
    for a, b, data in graph.edges(data=True):
        if "bytes_per_cycle" in data:
            flow.add_edge(b, a, capacity=data["bytes_per_cycle"])
    for cu in list_units(graph, "cu"):
        flow.add_edge(cu, "registers")
    for dram in list_units(graph, "dram"):
        pins = max(data["bytes_per_cycle"] for _, _, data in graph.in_edges(dram, data=True))
        flow.add_edge("pins", dram, capacity=pins)
    return float(nx.maximum_flow_value(flow, "pins", "registers"))
