"""A Perfetto trace as it is written: tracks in a tree, slices that nest on a track, counters.

One cycle of the simulated clock is a microsecond of the trace, so that the viewer's time axis counts cycles and DRAM
clocks, which lie between cycles, keep their place. The format is Perfetto's TrackEvent; strings are interned.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

NS_PER_CYCLE = 1000
SEQUENCE = 1
PACKETS = 10_000  # made before they become bytes
Cycle = int | float | Fraction
CUT_OFF = {"cut off": "it was under way when the recording ended"}  # a slice's note
_TEXTS = "debug_annotation_string_values"

_BEGIN, _END, _COUNTER = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_COUNTER


class TraceFile:
    """A trace in memory; Perfetto sorts its events by time.

    Slices of one track must nest; among those that begin or end in the same cycle, what happens first must be written
    first.
    """

    def __init__(self) -> None:
        self._builder = TraceProtoBuilder()
        self._packets = 0
        self._bytes = bytearray()
        self._interned: defaultdict[str, dict[str, int]] = defaultdict(dict)  # by table of the format
        self._tracks = 0
        self.slices = 0
        packet = self._new_packet()
        packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet.first_packet_on_sequence = True

    def track(self, name: str, parent: int = 0, rank: int = 0, description: str = "", unit: str | None = None) -> int:
        """Make a track below `parent` (0: at the root), its siblings ordered by `rank`; returns its number.

        Siblings of one name are shown as one track, whose slices may then overlap. unit: the track is a counter.
        """
        self._tracks += 1
        packet = self._new_packet()
        track = packet.track_descriptor
        track.uuid, track.name = self._tracks, name
        track.child_ordering = TrackDescriptor.EXPLICIT
        track.sibling_order_rank = rank
        if parent:
            track.parent_uuid = parent
        if description:
            track.description = description
        if unit is not None:
            track.counter.unit_name = unit
        return self._tracks

    def view_from(self, cycle: int) -> None:
        """Let the viewer begin at `cycle` when the trace is opened; earlier cycles are left of the picture."""
        packet = self._new_packet()
        packet.timestamp = cycle * NS_PER_CYCLE
        packet.service_event.tracing_started = True

    def begin(
        self, track: int, cycle: Cycle, name: str, category: str, notes: Mapping[str, int | str] | None = None
    ) -> None:
        """Begin a slice. notes: shown by the viewer when the slice is chosen."""
        self.slices += 1
        packet = self._event(track, cycle, _BEGIN)
        event = packet.track_event
        event.name_iid = self._intern(packet, "event_names", name)
        event.category_iids.append(self._intern(packet, "event_categories", category))
        for key, value in (notes or {}).items():
            note = event.debug_annotations.add()
            note.name_iid = self._intern(packet, "debug_annotation_names", key)
            if isinstance(value, int):
                note.int_value = value
            else:
                note.string_value_iid = self._intern(packet, _TEXTS, value)

    def end(self, track: int, cycle: Cycle) -> None:
        """End the innermost open slice of the track."""
        self._event(track, cycle, _END)

    def slice(
        self,
        track: int,
        begin: Cycle,
        end: Cycle,
        name: str,
        category: str,
        notes: Mapping[str, int | str] | None = None,
    ) -> None:
        """Write a slice that holds no other."""
        self.begin(track, begin, name, category, notes)
        self.end(track, end)

    def value(self, track: int, cycle: Cycle, value: float) -> None:
        """Set a counter's value from `cycle` on."""
        packet = self._event(track, cycle, _COUNTER)
        packet.track_event.double_counter_value = value

    def take(self) -> bytes:
        """Return the bytes written since the last call; the trace is all of these, one after another."""
        self._bytes += self._builder.serialize()
        taken = bytes(self._bytes)
        self._bytes.clear()
        self._builder, self._packets = TraceProtoBuilder(), 0
        return taken

    def _new_packet(self) -> Any:
        if self._packets == PACKETS:
            self._bytes += self._builder.serialize()
            self._builder, self._packets = TraceProtoBuilder(), 0
        self._packets += 1
        packet = self._builder.add_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet

    def _event(self, track: int, cycle: Cycle, kind: int) -> Any:
        packet = self._new_packet()
        packet.timestamp = int(cycle * NS_PER_CYCLE)
        packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet

    def _intern(self, packet: Any, table: str, text: str) -> int:
        known = self._interned[table]
        number = known.get(text)
        if number is None:
            number = known[text] = len(known) + 1
            entry = getattr(packet.interned_data, table).add()
            entry.iid = number
            if table == _TEXTS:
                entry.str = text.encode()
            else:
                entry.name = text
        return number


class TrackGroup:
    """Tracks of one name below one parent, made when needed, for slices that overlap."""

    def __init__(self, out: TraceFile, name: str, parent: int, rank: int = 0) -> None:
        self._out, self._name, self._parent, self._rank = out, name, parent, rank
        self._free: list[tuple[int, int]] = []  # cycle from which a track is free, track

    def take(self, begin: int, end: int) -> int:
        """Return a track for [begin, end): of those free, the one that was freed last, else a new one."""
        at = bisect_right(self._free, (begin, 1 << 62)) - 1
        track = self._free.pop(at)[1] if at >= 0 else self._out.track(self._name, self._parent, self._rank)
        insort(self._free, (end, track))
        return track
