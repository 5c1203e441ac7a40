"""Reads a Perfetto trace as the viewer does: sorted by time, slices by track nested, strings looked up."""

import gzip
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackDescriptor, TrackEvent

NS_PER_CYCLE = 1000


@dataclass(repr=False)
class Slice:
    """A slice in cycles; `track` is its track's path from the root."""

    track: tuple[str, ...]
    uuid: int
    begin: float
    end: float
    name: str
    category: str
    notes: dict
    parent: "Slice | None" = None
    inside: list["Slice"] = field(default_factory=list)

    @property
    def cycles(self) -> float:
        return self.end - self.begin


@dataclass(repr=False)
class ReadTrace:
    """Everything in a trace. ranks: of the tracks on a path among their siblings; counters: path of a counter's
    track → (cycle, value) in order; viewed_from: cycle with which the viewer's picture begins when it is opened.
    """

    tracks: dict[int, tuple[str, ...]]
    ranks: dict[tuple[str, ...], set[int]]
    slices: list[Slice]
    counters: dict[tuple[str, ...], list[tuple[float, float]]]
    viewed_from: float = 0.0

    def of(self, category: str, under: str = "") -> list[Slice]:
        """Slices of a category, below a track of the name `under`."""
        return [s for s in self.slices if s.category == category and (not under or under in s.track)]

    def below(self, *path: str) -> list[str]:
        """Names below a track as the viewer orders them: by rank, at the root by name. What is empty is not shown."""
        used = {s.track for s in self.slices} | set(self.counters)
        at = len(path)
        names = {track[at] for track in used if len(track) > at and track[:at] == path}
        if not path:
            return sorted(names)
        by_rank = {rank: name for name in names for rank in self.ranks[(*path, name)]}
        assert len(by_rank) == len(names), f"equal ranks below {path}: the viewer's order is chance"
        return [by_rank[rank] for rank in sorted(by_rank)]


def read_trace(path: Path) -> ReadTrace:
    """Read and check: every slice ends, lies within the one around it, and every name is known when it is used."""
    data = path.read_bytes()
    trace = Trace.FromString(gzip.decompress(data) if path.suffix == ".gz" else data)
    names: dict[int, str] = {}
    categories: dict[int, str] = {}
    keys: dict[int, str] = {}
    texts: dict[int, str] = {}
    tracks: dict[int, tuple[str, ...]] = {}
    ranks: dict[tuple[str, ...], set[int]] = defaultdict(set)
    viewed_from = 0.0
    counters: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    counting: set[int] = set()
    events: list[tuple[int, TrackEvent, str, str, dict]] = []
    assert trace.packet[0].first_packet_on_sequence
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == trace.packet[0].trusted_packet_sequence_id
        for table, found in (
            (names, packet.interned_data.event_names),
            (categories, packet.interned_data.event_categories),
            (keys, packet.interned_data.debug_annotation_names),
        ):
            table.update({entry.iid: entry.name for entry in found})
        texts.update({e.iid: e.str.decode() for e in packet.interned_data.debug_annotation_string_values})
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            assert d.uuid and d.uuid not in tracks
            tracks[d.uuid] = (*(tracks[d.parent_uuid] if d.parent_uuid else ()), d.name)
            ranks[tracks[d.uuid]].add(d.sibling_order_rank)
            assert d.child_ordering == TrackDescriptor.EXPLICIT
            if d.HasField("counter"):
                counting.add(d.uuid)
        if packet.service_event.tracing_started:
            viewed_from = packet.timestamp / NS_PER_CYCLE
        if packet.HasField("track_event"):
            e = packet.track_event
            assert (e.type == TrackEvent.TYPE_COUNTER) == (e.track_uuid in counting)
            begins = e.type == TrackEvent.TYPE_SLICE_BEGIN
            notes = {
                keys[n.name_iid]: n.int_value if n.HasField("int_value") else texts[n.string_value_iid]
                for n in e.debug_annotations
            }
            name = names[e.name_iid] if begins else ""
            category = categories[e.category_iids[0]] if begins else ""
            events.append((packet.timestamp, e, name, category, notes))
    events.sort(key=lambda event: event[0])  # stable, as the viewer's
    slices: list[Slice] = []
    stacks: dict[int, list[Slice]] = defaultdict(list)
    for timestamp, e, name, category, notes in events:
        cycle = timestamp / NS_PER_CYCLE
        path_of = tracks[e.track_uuid]
        stack = stacks[e.track_uuid]
        if e.type == TrackEvent.TYPE_COUNTER:
            counters[path_of].append((cycle, e.double_counter_value))
        elif e.type == TrackEvent.TYPE_SLICE_BEGIN:
            parent = stack[-1] if stack else None
            stack.append(Slice(path_of, e.track_uuid, cycle, -1.0, name, category, notes, parent))
        else:
            one = stack.pop()
            one.end = cycle
            assert one.end > one.begin, f"{one.name}: no length, the viewer draws it as an instant"
            slices.append(one)
            if one.parent is not None:
                one.parent.inside.append(one)
    assert not any(stacks.values()), "slices that never end"
    return ReadTrace(tracks, dict(ranks), slices, dict(counters), viewed_from)
