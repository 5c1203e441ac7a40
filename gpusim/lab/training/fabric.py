"""Links that transfers share: between GPUs, switches and the host, as a graph whose edges have bandwidth and latency.

A transfer takes the shortest path (by latency, then by the number of links), between GPUs not through the host where
there is another way, waits for the latencies of its links, and then flows. All that flow at a time share the links
max-min fairly: rates grow together until a link is full, whose flows keep theirs while the others' grow on (Bertsekas
and Gallager, Data Networks, 2nd edition, section 6.5.2). So no link ever carries more than its bandwidth, and one that
several need is the bound of all of them.

Time is microseconds, bandwidth GB/s of payload in one direction, latency microseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import networkx
import simpy

from gpusim.base.errors import UserError
from gpusim.base.sums import plain_sum

HOST = "host"
_BYTES_PER_US = 1e3  # at 1 GB/s
_ENDED = 1e-9  # of a transfer's bytes: what is left of one that has ended


class Transfer(NamedTuple):
    """Bytes from a node to another one."""

    source: str
    """Node that sends."""
    target: str
    """Node that receives."""
    size_bytes: float
    """Bytes."""


class LinkPath(NamedTuple):
    """The way of a transfer."""

    links: tuple[int, ...]
    """Numbers of the links, one after another."""
    latency_us: float
    """Sum of their latencies."""


@dataclass(eq=False)
class _Flow:
    path: LinkPath
    size_bytes: float
    left_bytes: float
    group: "_Group"


@dataclass(eq=False)
class _Group:
    """Transfers that end together."""

    left: int
    """Number of unfinished transfers."""
    carried_bytes: list[float]
    """Bytes carried by each link, to which the transfers add."""
    done: simpy.Event
    """Event at the end of the last transfer."""


def gpu_name(number: int) -> str:
    """Return the name of a GPU's node."""
    return f"gpu{number}"


def link(graph: Any, one: str, other: str, gb_s: float, latency_us: float) -> None:
    """Add a link of a directed graph with both its directions, each with the whole bandwidth."""
    for ends in ((one, other), (other, one)):
        graph.add_edge(*ends, gb_s=gb_s, latency_us=latency_us)


def check_connected(graph: Any, nodes: Sequence[str], where: str) -> None:
    """Raise UserError for a node that is not in the graph or that cannot be reached from the first one."""
    for node in nodes:
        if node not in graph:
            raise UserError(f"{where}: there is no node '{node}' (there are: {', '.join(sorted(graph))})")
    reached = networkx.descendants(graph, nodes[0]) | {nodes[0]}
    lost = [node for node in nodes if node not in reached]
    if lost:
        raise UserError(f"{where}: not connected: no way from {nodes[0]} to {', '.join(lost)}; a link is missing")


class Fabric:
    """Transfers over a directed graph, in a SimPy environment.

    carried_bytes: what ended transfers brought over each link, as `links` has them, by what the transfers were for.
    """

    def __init__(self, environment: simpy.Environment, graph: Any) -> None:
        self.links: list[tuple[str, str]] = list(graph.edges)
        self.carried_bytes: dict[Any, list[float]] = {}
        self._environment = environment
        self._numbers = {ends: number for number, ends in enumerate(self.links)}
        self._capacity = [graph.edges[ends]["gb_s"] * _BYTES_PER_US for ends in self.links]  # bytes a microsecond
        self._latency = [graph.edges[ends]["latency_us"] for ends in self.links]
        self._graph = graph
        self._paths: dict[tuple[str, str], LinkPath] = {}
        self._flows: list[_Flow] = []
        self._rates: list[float] = []  # bytes a microsecond of each flow, since _settled_us
        self._settled_us = 0.0
        self._look: simpy.Event | None = None
        self._shared: dict[tuple[LinkPath, ...], list[float]] = {}  # rates of flows that were there before

    def path(self, source: str, target: str) -> LinkPath:
        """Return the links that a transfer takes."""
        if (source, target) not in self._paths:
            nodes = self._way(source, target)
            links = tuple(self._numbers[ends] for ends in pairwise(nodes))
            self._paths[source, target] = LinkPath(links, plain_sum(self._latency[number] for number in links))
        return self._paths[source, target]

    def _way(self, source: str, target: str) -> list[str]:
        """Return the nodes of the shortest way, which leads through the host only where there is no other one."""

        def cost(_: str, __: str, edge: dict[str, float]) -> float:
            return edge["latency_us"] + 1e-6  # fewer links where latencies are equal

        beside = self._graph.subgraph([n for n in self._graph if n != HOST or HOST in (source, target)])
        graph = beside if networkx.has_path(beside, source, target) else self._graph
        nodes: list[str] = networkx.shortest_path(graph, source, target, weight=cost)
        return nodes

    def transfer(self, transfers: Sequence[Transfer], purpose: Any = None) -> simpy.Event:
        """Begin transfers now; the event happens when all have ended. purpose: under which their bytes are counted."""
        carried = self.carried_bytes.setdefault(purpose, [0.0] * len(self.links))
        group = _Group(len(transfers), carried, self._environment.event())
        later: dict[float, list[_Flow]] = {}
        for one in transfers:
            path = self.path(one.source, one.target)
            later.setdefault(path.latency_us, []).append(_Flow(path, one.size_bytes, one.size_bytes, group))
        for latency_us, flows in later.items():
            begun = self._environment.timeout(latency_us)
            begun.callbacks.append(partial(self._begin, flows))
        return group.done

    def _begin(self, flows: Sequence[_Flow], _: simpy.Event) -> None:
        self._settle()
        self._flows += flows
        self._share()

    def _settle(self) -> None:
        """Subtract what has flowed since the rates were set."""
        now = self._environment.now
        passed_us = now - self._settled_us
        if passed_us > 0:
            for flow, rate in zip(self._flows, self._rates, strict=True):
                flow.left_bytes -= rate * passed_us
        self._settled_us = now

    def _share(self) -> None:
        """Set the rates of all flows, and look again when the first of them ends."""
        paths = tuple(flow.path for flow in self._flows)
        if paths not in self._shared:
            self._shared[paths] = fair_rates([path.links for path in paths], self._capacity)
        self._rates = self._shared[paths]
        self._look = None
        if self._flows:
            left = min(flow.left_bytes / rate for flow, rate in zip(self._flows, self._rates, strict=True))
            self._look = self._environment.timeout(max(left, 0.0))
            self._look.callbacks.append(self._end_first)

    def _end_first(self, look: simpy.Event) -> None:
        """End the flows that have nothing left, unless the rates have been set again since."""
        if look is not self._look:
            return
        self._settle()
        nearest = min(flow.left_bytes / flow.size_bytes for flow in self._flows)
        ended = {f for f in self._flows if f.left_bytes <= max(_ENDED, nearest + _ENDED) * f.size_bytes}
        self._flows = [flow for flow in self._flows if flow not in ended]
        for flow in ended:
            for number in flow.path.links:
                flow.group.carried_bytes[number] += flow.size_bytes
            flow.group.left -= 1
            if not flow.group.left:
                flow.group.done.succeed()
        self._share()


def transfer_us(graph: Any, one: Transfer) -> float:
    """Return the time of a transfer that has the links for itself."""
    fabric = Fabric(simpy.Environment(), graph)
    path = fabric.path(one.source, one.target)
    slowest = min(graph.edges[fabric.links[number]]["gb_s"] for number in path.links)
    return float(path.latency_us + one.size_bytes / (slowest * _BYTES_PER_US))


def fair_rates(paths: Sequence[Sequence[int]], capacity: Sequence[float]) -> list[float]:
    """Return the max-min fair rate of each flow, given the links that it takes and the capacity of every link."""
    rates = [0.0] * len(paths)
    over: dict[int, set[int]] = {}
    for flow, links in enumerate(paths):
        for number in links:
            over.setdefault(number, set()).add(flow)
    left = {number: capacity[number] for number in over}
    while over:
        full = min(over, key=lambda number: (left[number] / len(over[number]), number))
        share = left[full] / len(over[full])
        for flow in list(over[full]):
            rates[flow] = share
            for number in set(paths[flow]):
                left[number] -= share
                over[number].discard(flow)
        over = {number: flows for number, flows in over.items() if flows}
    return rates
