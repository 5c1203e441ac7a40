"""The engine's state. Sizes are maxima; what a configuration sizes is a scalar or a run-time stride."""

import numpy as np

from gpusim.jit import Field, State, counter_fields
from isa.region import LINE_ELEMENTS
from memory.address_map import MAX_DRAM_CHANNELS, MAX_L2_CHANNELS
from spartan.counters import ENGINE_COUNTERS
from spartan.engine_spec import (
    LINE_BYTES,
    MAX_BANKS,
    MAX_BUFFER_KIB,
    MAX_LOOKUPS,
    MAX_READS,
    MAX_REGIONS,
    MAX_SHIFTERS,
    MAX_SIB_KIB,
    MAX_STAGE_CYCLES,
    MAX_UNITS,
    MIN_ENTRY_BYTES,
)

MAX_ENTRIES = MAX_SIB_KIB * 1024 // MIN_ENTRY_BYTES
MAX_BITMASK_WORDS = MAX_SIB_KIB * 1024 // 4
MAX_MAPPINGS = MAX_SIB_KIB * 1024
MAX_SLOTS = MAX_BUFFER_KIB * 1024 // LINE_BYTES
MAX_LANES = MAX_SLOTS
MAX_REQUESTS = 4096
LOOKUP_RING = 1024  # a power of two
WORD_BITS = 32  # of a bitmask word: masks stay below 63 bits

assert LOOKUP_RING >= MAX_LOOKUPS * (MAX_STAGE_CYCLES + 1)

NONE = -1
PROFILE, REPLAY = 0, 1  # lane kinds: the one that extends a column's profile, the one that follows it
DEMAND, AHEAD = 0, 1  # issue queues: lanes with a waiting request first
IN_FLIGHT, ARRIVED, IN_UNIT = 0, 1, 2  # states of a read

ENGINE = State(
    "engine",
    {
        # configuration
        "prefetch_length": Field((), "sparse lines read ahead of the last demanded one"),
        "demand_window": Field((), "sparse lines of a column in flight for a demand of unknown end"),
        "lookups_per_cycle": Field((), "requests looked up a cycle"),
        "lookup_cycles": Field((), "cycles of a look-up"),
        "lookup_capacity": Field((), "requests in the look-up pipeline"),
        "shifters": Field((), "bit searches at a time"),
        "scan_bits": Field((), "bitmask bits searched a cycle"),
        "mapping_sums": Field((), "mapping entries added up a cycle"),
        "units": Field((), "compaction units"),
        "compu_latency": Field((), "cycles from entering a unit to the lane"),
        "buffer_read": Field((), "cycles from a finished line to its leaving"),
        "sib_replacement": Field((), "policy by which SIB entries are replaced (spartan/replacement.py)"),
        "lane_replacement": Field((), "policy by which lanes are closed"),
        "cmi_replacement": Field((), "policy by which mappings leave a column's window"),
        "sum_from": Field((), "which way mappings are added up, a number of spartan/search.py"),
        "sets": Field((), "sets of the SIB's directory"),
        "ways": Field((), "SIB entries of a set"),
        "addresses_per_cycle": Field((), "reads issued a cycle"),
        "unit_lines": Field((), "sparse lines of a unit's data buffer"),
        "banks": Field((), "banks of the prefetch buffer, 0: accesses never conflict"),
        "bank_ports": Field((), "lines that a bank reads or writes a cycle"),
        "mappings": Field((), "mapping entries of a SIB entry"),
        "bitmask_words": Field((), "32-bit bitmask words of a SIB entry"),
        "line_bits": Field((), "width of a line count in the metadata"),
        "memory": Field((), "host address that device address 0 would have in the memory image"),
        "regions": Field((), "sparse regions"),
        "region_line": Field((MAX_REGIONS,), "first line of a region"),
        "region_end": Field((MAX_REGIONS,), "first line after a region"),
        "region_stride": Field((MAX_REGIONS,), "lines from column to column"),
        "region_rows": Field((MAX_REGIONS,), "rows"),
        "region_lines": Field((MAX_REGIONS,), "sparse lines of a column"),
        "region_column": Field((MAX_REGIONS,), "number of a region's first column among all columns"),
        "region_image": Field((MAX_REGIONS,), "host address of the packed matrix"),
        "region_counts": Field((MAX_REGIONS,), "host address of its compacted lines by column, int64"),
        "entry_of_column": Field((), "host address of an int32 a column: 1 + its SIB entry, 0 if it has none"),
        # SIB
        "meta": Field((MAX_ENTRIES,), "48-bit metadata of an entry"),
        "bitmask": Field((MAX_BITMASK_WORDS,), "sparsity bitmasks, 32 bits a word"),
        "cmi": Field((MAX_MAPPINGS,), "mapping bytes, a ring of `mappings` an entry", np.int16),
        "entry_region": Field((MAX_ENTRIES,), "region of an entry's column (follows from the column number)"),
        "entry_lane": Field((MAX_ENTRIES, 2), "open lane of an entry by kind, or NONE"),
        "entry_next": Field((MAX_ENTRIES,), "towards the entry that is replaced last"),
        "entry_prev": Field((MAX_ENTRIES,), "towards the entry that is replaced first"),
        "set_first": Field((MAX_ENTRIES,), "entry of a set that is replaced first"),
        "set_last": Field((MAX_ENTRIES,), "entry that is replaced last"),
        "set_used": Field((MAX_ENTRIES,), "entries of a set allocated so far"),
        # lanes of the prefetch buffer
        "lane_entry": Field((MAX_LANES,), "SIB entry of a lane, NONE: closed"),
        "lane_kind": Field((MAX_LANES,), "PROFILE or REPLAY"),
        "lane_serial": Field((MAX_LANES,), "number of the opening: tells reads of an earlier one apart"),
        "lane_slot": Field((MAX_LANES,), "buffer line under construction, NONE when the column is complete"),
        "lane_count": Field((MAX_LANES,), "bundles in it, 0 to 16"),
        "lane_line": Field((MAX_LANES,), "compacted line under construction"),
        "lane_consumed": Field((MAX_LANES,), "sparse lines compacted since the opening"),
        "lane_issued": Field((MAX_LANES,), "sparse lines issued since the opening"),
        "lane_limit": Field((MAX_LANES,), "lane_issued up to which a search of unknown end may go"),
        "lane_position": Field((MAX_LANES,), "sparse line from which the search goes on"),
        "lane_restart": Field((MAX_LANES,), "compacted line at which the next issued read starts anew, or NONE"),
        "lane_skip": Field((MAX_LANES,), "elements of that read that belong to earlier lines"),
        "lane_todo": Field((MAX_LANES,), "reads left of an accurate search"),
        "lane_exact": Field((MAX_LANES,), "compacted line that starts after the reads issued, NONE if not known"),
        "lane_run": Field((MAX_LANES,), "compacted line at which the prudent run began, NONE: no run"),
        "lane_restarts": Field((MAX_LANES,), "restarts issued and not yet compacted"),
        "lane_read_first": Field((MAX_LANES,), "oldest read not yet in a unit"),
        "lane_read_last": Field((MAX_LANES,), "newest read"),
        "lane_filled_first": Field((MAX_LANES,), "oldest finished line held"),
        "lane_filled_last": Field((MAX_LANES,), "newest finished line held"),
        "lane_waiter": Field((MAX_LANES,), "first waiting request"),
        "lane_in_unit": Field((MAX_LANES,), "1: in its unit's queue"),
        "lane_unit_next": Field((MAX_LANES,), "next lane in it"),
        "lane_in_issue": Field((2, MAX_LANES), "1: in the issue queue DEMAND or AHEAD"),
        "lane_issue_next": Field((2, MAX_LANES), "next lane in it"),
        "lane_blocked": Field((MAX_LANES,), "1: waits for a DRAM channel's queue"),
        "lane_blocked_next": Field((MAX_LANES,), "next lane that does"),
        "lane_unit_full": Field((MAX_LANES,), "1: waits for a line of its unit's data buffer"),
        "lane_unit_full_next": Field((MAX_LANES,), "next lane that does"),
        "lane_next": Field((MAX_LANES,), "towards the lane that is closed last; next free lane"),
        "lane_prev": Field((MAX_LANES,), "towards the lane that is closed first"),
        "lane_first": Field((), "open lane that is closed first"),
        "lane_last": Field((), "open lane that is closed last"),
        "lane_free": Field((), "first free lane"),
        "lane_openings": Field((), "lanes opened so far"),
        # buffer lines
        "slot_bundles": Field((MAX_SLOTS, LINE_ELEMENTS), "a compacted line"),
        "slot_line": Field((MAX_SLOTS,), "its number in its column"),
        "slot_reads": Field((MAX_SLOTS,), "reads that count as needed once it is delivered"),
        "slot_next": Field((MAX_SLOTS,), "next finished line of the lane; next free slot"),
        "slot_free": Field((), "first free slot"),
        "slots_free": Field((), "free slots"),
        # requests
        "request_channel": Field((MAX_REQUESTS,), "L2 channel"),
        "request_mshr": Field((MAX_REQUESTS,), "L2 MSHR"),
        "request_region": Field((MAX_REQUESTS,), "region, NONE: none"),
        "request_column": Field((MAX_REQUESTS,), "column of the region"),
        "request_line": Field((MAX_REQUESTS,), "compacted line of the column"),
        "request_arrival": Field((MAX_REQUESTS,), "cycle of arrival"),
        "request_covered": Field((MAX_REQUESTS,), "1: an accurate search has been started for it"),
        "request_next": Field((MAX_REQUESTS,), "next waiting request of the lane; next free"),
        "request_free": Field((), "first free request"),
        "requests_held": Field((), "requests taken and not answered"),
        "lookup_ready": Field((LOOKUP_RING,), "cycle in which a look-up is done"),
        "lookup_request": Field((LOOKUP_RING,), "its request"),
        "lookup_head": Field((), "position of the oldest look-up"),
        "lookup_count": Field((), "look-ups held"),
        "lookup_since": Field((), "cycle from which the oldest look-up is blocked, NONE: it is not"),
        "next_channel": Field((), "L2 channel that is asked first"),
        "output_free": Field((MAX_L2_CHANNELS,), "cycle from which an L2 channel can take an answer"),
        # reads, kept from issue to compaction
        "read_line": Field((MAX_READS,), "sparse line of the column"),
        "read_unit": Field((MAX_READS,), "unit whose data buffer it has a line of"),
        "read_lane": Field((MAX_READS,), "lane, NONE: closed meanwhile"),
        "read_serial": Field((MAX_READS,), "opening of the lane"),
        "read_state": Field((MAX_READS,), "IN_FLIGHT, ARRIVED or IN_UNIT"),
        "read_restart": Field((MAX_READS,), "compacted line that starts with it, or NONE"),
        "read_skip": Field((MAX_READS,), "its elements that belong to earlier lines"),
        "read_next": Field((MAX_READS,), "next read of the lane; next free"),
        "read_free": Field((), "first free read"),
        "reads_held": Field((), "reads issued and not compacted"),
        # issue
        "issue_first": Field((2,), "first lane of the issue queues"),
        "issue_last": Field((2,), "last lane"),
        "shifter_ready": Field((MAX_SHIFTERS,), "cycle from which a shifter is free, or has its result"),
        "shifter_lane": Field((MAX_SHIFTERS,), "lane that it searches for, or NONE"),
        "shifter_found": Field((MAX_SHIFTERS,), "1: the search is over, the read is to be issued"),
        "addresses_left": Field((), "reads that may still be issued in this cycle"),
        "blocked_first": Field((MAX_DRAM_CHANNELS,), "first lane that waits for a DRAM channel's queue"),
        "blocked_last": Field((MAX_DRAM_CHANNELS,), "last lane"),
        # compaction units
        "unit_mask": Field((), "units with a lane in their queue"),
        "unit_lines_held": Field((MAX_UNITS,), "lines of a unit's data buffer that reads have"),
        "unit_full_first": Field((MAX_UNITS,), "first lane that waits for one"),
        "unit_full_last": Field((MAX_UNITS,), "last lane"),
        "unit_first": Field((MAX_UNITS,), "first lane of a unit's queue"),
        "unit_last": Field((MAX_UNITS,), "last lane"),
        "pipe_ready": Field((MAX_READS,), "cycle in which a line leaves its unit"),
        "pipe_read": Field((MAX_READS,), "its read"),
        "pipe_head": Field((), "position of the oldest line in a unit"),
        "pipe_count": Field((), "lines in units"),
        "unit_bundles": Field((LINE_ELEMENTS,), "bundles of the line that leaves a unit, by element"),
        "bank_next": Field((MAX_BANKS,), "cycle * ports + port from which a bank is free"),
        # what a search says besides its result
        "scanned": Field((), "bits that the last search went over"),
        "summed": Field((), "mapping entries that it added up"),
        **counter_fields(ENGINE_COUNTERS),
    },
)
