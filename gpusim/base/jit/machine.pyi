"""Written from the states of the machine's parts, by `python -m tests.support.machine_stub`."""

from collections.abc import Iterator
from types import EllipsisType
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Row = TypeVar("Row")

class Record:
    """A part of the machine; a subscript, in host code alone, gives the field of that name."""

    dtype: Any
    def __getitem__(self, field: Any) -> Any: ...
    def __setitem__(self, field: Any, value: Any) -> None: ...

class RecordArray(Generic[Row]):
    """An array of records. Host code names a field of all of them as `np.asarray(records)[field]`."""

    shape: tuple[int, ...]
    dtype: Any
    def __getitem__(self, index: Any) -> Row: ...
    def __setitem__(self, index: str | slice | EllipsisType, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Row]: ...
    def __len__(self) -> int: ...

class WheelRecord(Record):
    """m.wheel"""

    now: int
    """current cycle."""
    active: int
    """last cycle in which a unit on the CUs' side of the crossbar has run."""
    running: int
    """class whose units are running now, -1 between cycles."""
    row: NDArray[np.uint32]
    """[1024, 48]: units to run in a cycle, by class and number."""
    far_now: int
    """current cycle beyond the crossbar."""
    far_active: int
    """last cycle in which a unit beyond it has run."""
    far_running: int
    """class whose units are running there, -1 between cycles."""

class TimelineRecord(Record):
    """m.timeline"""

    on: int
    """RECORDED: every event is; FINDS: caches count where they find lines, by instruction."""
    placements: int
    """1: at least where wavefronts are placed and when they end is recorded."""
    address: int
    """buffer of events."""
    capacity: int
    """events it holds."""
    pause: int
    """events and DRAM commands from which the run loop returns to have them taken."""
    count: int
    """events since they were last taken."""

class MapMatrixRecord(Record):
    """m.map.matrix"""

    diagonals: int
    """its diagonals that are not zero."""
    shift: NDArray[np.int64]
    """[48]: of a diagonal: address bit of the number's bit 0."""
    mask: NDArray[np.int64]
    """[48]: of a diagonal: bits of the number to which it adds an address bit."""

class MapRecord(Record):
    """m.map"""

    l2_channels: int
    """number of L2 channels, a power of two."""
    l2_channel_bits: int
    """log2 of it."""
    dram_channels: int
    """number of DRAM channels, a power of two."""
    dram_channel_bits: int
    """log2 of it."""
    interleave_lines_bits: int
    """log2 of the lines that follow one another in one channel."""
    matrix: RecordArray[MapMatrixRecord]
    """[3]: address bits of L2_CHANNEL, DRAM_CHANNEL and BANK."""

class WaitingContestRecord(Record):
    """m.waiting.contest"""

    tried_in: int
    """cycle in which those who waited try again."""
    slots: int
    """slots that came free for them and are not yet taken."""
    trying: int
    """those who have not tried yet."""
    next: int
    """round-robin pointer: who goes first."""

class WaitingShortageRecord(Record):
    """m.waiting.shortage"""

    total: int
    """cycles of the shortages before the last one."""
    start: int
    """first cycle of the last one."""
    end: int
    """first cycle after it, UNTIL_FREED: not known."""

class WaitingRecord(Record):
    """m.waiting"""

    waiters: NDArray[np.int64]
    """[2946]: mask of those who wait, by resource."""
    contest: RecordArray[WaitingContestRecord]
    """[64]: of the contested resources: who goes first."""
    shortage: RecordArray[WaitingShortageRecord]
    """[1792]: of the timed resources: when none was to be had."""

class PartsRecord(Record):
    """m.parts"""

    others: int
    """of the main record: number of its parts, 0: it is whole."""
    address: NDArray[np.int64]
    """[65]: of the main record: addresses of its parts, from 1 on."""
    main: int
    """of a part: address of the main record, 0: this is the main one."""
    first_cu: int
    """first compute unit of the record."""
    end_cu: int
    """compute unit after its last one."""
    first_array: int
    """first shader array of the record."""
    end_array: int
    """shader array after its last one."""
    came: int
    """cycle to which the record has come in a window."""
    held: int
    """1: L2 TLB and dispatcher do not run in their cycles; DISPATCHES: the dispatcher was to."""
    notes: int
    """1: what has an order that all records decide is noted, with its cycle."""
    stops: int
    """1: a unit has asked the L2 TLB, the record runs no further cycle of the window."""

class PortsRecord(Record):
    """m.ports"""

    ready: NDArray[np.int64]
    """[96, 1024]: cycle from which an entry may be taken."""
    tag: NDArray[np.int64]
    """[96, 1024]: what the entry answers."""
    cause: NDArray[np.int64]
    """[96, 1024]: orders entries of a cycle: cycle of their cause * CAUSES + turn in it."""
    head: NDArray[np.int64]
    """[96]: position of the oldest entry."""
    count: NDArray[np.int64]
    """[96]: entries held."""
    sparse_ready: NDArray[np.int64]
    """[32, 256]: cycle from which the engine may take a sparse miss."""
    sparse_line: NDArray[np.int64]
    """[32, 256]: line of the miss, sparse mark included."""
    sparse_mshr: NDArray[np.int64]
    """[32, 256]: L2 MSHR that waits for it."""
    sparse_head: NDArray[np.int64]
    """[32]: position of the oldest sparse miss."""
    sparse_count: NDArray[np.int64]
    """[32]: sparse misses held."""
    sparse_limit: int
    """configured depth of a channel's sparse-miss queue, at most SPARSE_DEPTH."""
    far: int
    """1: an entry was ready only beyond the wheel's reach, and its reader woken too early."""
    overflows: int
    """answers from DRAM or engine that found their queue full; always 0 [entries]."""

class XbarPortRecord(Record):
    """m.xbar.port"""

    takes: int
    """word in a row of the wheel of the class that takes answers."""
    sends: int
    """word in a row of the wheel of the class that sends requests."""
    bit: int
    """the unit in these words."""

class XbarDestinationRecord(Record):
    """m.xbar.destination"""

    unit: int
    """number of the unit in its classes."""
    takes: int
    """class that takes requests."""
    serves: int
    """class that serves them."""
    fills: int
    """class that fills lines, for which requests wait."""

class XbarRequestCreditsRecord(Record):
    """m.xbar.request_credits"""

    next: int
    """number of the credit that the next packet takes along, -limit at first."""
    at: int
    """cycle in which it is back, NOT_KNOWN until its packet has been taken."""
    taken: int
    """packets that the receiver has taken."""
    limit: int
    """the receiver's slots."""
    ring: int
    """entries of `back` in use less one: a power of two less one."""
    back: NDArray[np.int64]
    """[1024]: cycle from which a credit is back at the sender, by its number."""

class XbarAnswerCreditsRecord(Record):
    """m.xbar.answer_credits"""

    next: int
    """number of the credit that the next packet takes along, -limit at first."""
    at: int
    """cycle in which it is back, NOT_KNOWN until its packet has been taken."""
    taken: int
    """packets that the receiver has taken."""
    limit: int
    """the receiver's slots."""
    ring: int
    """entries of `back` in use less one: a power of two less one."""
    back: NDArray[np.int64]
    """[1024]: cycle from which a credit is back at the sender, by its number."""

class XbarSentRecord(Record):
    """m.xbar.sent"""

    packets: int
    """requests in it."""
    packet: NDArray[np.int64]
    """[196608, 4]: P_LINE ... P_MASK; P_READY: cycle | port of NUMBER_BITS."""

class XbarAnsweredRecord(Record):
    """m.xbar.answered"""

    answers: int
    """answers in it."""
    credits: int
    """credits in it."""
    answer: NDArray[np.int64]
    """[32768, 2]: R_SOURCE with TAKEN; R_READY: cycle | port."""
    until: int
    """cycle up to which answers have been matched with ports."""
    credit: NDArray[np.int64]
    """[196608]: cycle in which it is back | port."""

class XbarRecord(Record):
    """m.xbar"""

    apart: int
    """1: what crosses goes through outboxes, as two threads run the two sides."""
    window: int
    """cycles after which neither side of the crossbar has noticed the other: its least latency."""
    lookahead: int
    """requests of a port, the oldest first, that channels look at."""
    response_ring: int
    """slots of a channel's ring in use: a power of two."""
    joins: int
    """1: channels take, serve and send both halves of a line of 128 bytes in one cycle."""
    ideal: int
    """1: fixed latency and bandwidth."""
    interval: int
    """ideal model: a channel's time for a packet in 1e-6 cycles, 0: none."""
    request_latency: NDArray[np.int64]
    """[192]: cycles from a port to a destination."""
    response_latency: NDArray[np.int64]
    """[32]: cycles from a destination to a port."""
    leads_to: NDArray[np.int64]
    """[192]: destination of all requests of a port; BY_LINE: the L2 channel of the line."""
    port: RecordArray[XbarPortRecord]
    """[192]: what is attached to a port."""
    destination: RecordArray[XbarDestinationRecord]
    """[32]: what is attached to a destination."""
    request_credits: RecordArray[XbarRequestCreditsRecord]
    """[192]: credits of a port for its slots at the destinations."""
    delivered: NDArray[np.int64]
    """[192, 256]: such answers of a port: R_SOURCE with TAKEN | cycle << CYCLE_SHIFT."""
    delivered_head: NDArray[np.int64]
    """[192]: position of the oldest of them."""
    delivered_count: NDArray[np.int64]
    """[192]: how many they are."""
    requests: int
    """packets that first-level caches sent to L2 [packets]."""
    responses: int
    """answers that they took [packets]."""
    matched: int
    """cycle before which ports take what was matched with them, and nothing else."""
    sends_in: int
    """outbox that caches put packets and credits into."""
    matching: int
    """cycle from which answers have not been matched with ports yet."""
    response: NDArray[np.int64]
    """[32, 1024, 2]: queued responses of a channel, by R_SOURCE, R_READY."""
    r_head: NDArray[np.int64]
    """[32]: position of the oldest response."""
    r_count: NDArray[np.int64]
    """[32]: responses held."""
    r_ready: NDArray[np.int64]
    """[32]: cycle from which the oldest response may be taken."""
    received: NDArray[np.int64]
    """[192, 16]: where channels join: answers at a port that its cache has not taken."""
    received_head: NDArray[np.int64]
    """[192]: position of the oldest of them."""
    received_count: NDArray[np.int64]
    """[192]: how many they are."""
    returning: NDArray[np.int64]
    """[192]: channels whose oldest response is for the port."""
    next_channel: NDArray[np.int64]
    """[192]: round-robin pointer: channel that the port looks at first."""
    r_next: NDArray[np.int64]
    """[32, 1024]: response after one in its list, or next free slot."""
    r_free_slot: NDArray[np.int64]
    """[32]: first free slot of a channel."""
    r_first: NDArray[np.int64]
    """[32, 192]: oldest response of the list, -1 none."""
    r_last: NDArray[np.int64]
    """[32, 192]: youngest."""
    request: NDArray[np.int64]
    """[192, 1024, 4]: queued requests of a port, by P_LINE ... P_READY."""
    o_count: NDArray[np.int64]
    """[192]: requests held."""
    o_next: NDArray[np.int64]
    """[192, 1024]: position + 1 of the request after one in its list; 0: none."""
    o_free_slot: NDArray[np.int64]
    """[192]: position + 1 of the slot given back last; 0: none is left."""
    o_first: NDArray[np.int64]
    """[192, 32]: position + 1 of the oldest that a channel looks at; 0: none."""
    o_last: NDArray[np.int64]
    """[192, 32]: position + 1 of the youngest."""
    o_behind: NDArray[np.int64]
    """[192]: position + 1 of the oldest that no channel looks at yet."""
    o_youngest: NDArray[np.int64]
    """[192]: position + 1 of the youngest of those."""
    o_ready: NDArray[np.int64]
    """[32, 192]: cycle from which the oldest for a channel may be taken."""
    o_moved: NDArray[np.int64]
    """[192]: first cycle after that in which the port has moved a request."""
    o_free: NDArray[np.int64]
    """[32]: ideal model: when the channel may take a packet, in 1e-6 cycles."""
    waiting: NDArray[np.int64]
    """[32, 3]: ports in which the channel sees requests, 64 a word."""
    next_port: NDArray[np.int64]
    """[32]: round-robin pointer: port that the channel looks at first."""
    answer_credits: RecordArray[XbarAnswerCreditsRecord]
    """[32]: credits of a destination for slots at ports."""
    r_free: NDArray[np.int64]
    """[32]: when the channel's response port is free, ideal model: in 1e-6 cycles."""
    r_youngest: NDArray[np.int64]
    """[32]: R_SOURCE of the channel's youngest answer."""
    answers_in: int
    """outbox that channels put answers and credits into."""
    sent: RecordArray[XbarSentRecord]
    """[2]: of the caches, for the channels' side."""
    answered: RecordArray[XbarAnsweredRecord]
    """[2]: of the channels, for the caches' side."""

class SidesRecord(Record):
    """m.sides"""

    joined: int
    """1: another thread waits for windows to run beyond the crossbar."""
    near: NDArray[np.int64]
    """[8]: 0: windows that the caches' side has run."""
    far: NDArray[np.int64]
    """[8]: 0: windows that the channels' side has run; 1: last cycle in which a unit ran there."""
    bounds: NDArray[np.int64]
    """[2, 8]: of the last two windows the first cycle, and the one after the last, or HALT."""
    begun: NDArray[np.int64]
    """[8]: 0: windows that the caches' side has begun, where it is divided."""
    shared: NDArray[np.int64]
    """[2, 8]: of the last two of these the first cycle, and the one up to which parts run apart."""
    further: NDArray[np.int64]
    """[8]: 0: 1 + the last window of the threads from 2 on; 1, 2: its cycles, as in `bounds`."""
    parts: NDArray[np.int64]
    """[65, 8]: by thread, 0: 1 + the last window that it has run of its part."""
    waited: NDArray[np.int64]
    """[65, 8]: by thread, 0: how often it has looked in vain for what others do."""
    quiet: int
    """cycles without anything to do, for one thread that goes on with a whole record."""
    apart: int
    """cycles in which the parts of the caches' side ran apart."""

class SlicesRecord(Record):
    """m.slices"""

    ahead: int
    """1: a wavefront asks for its next slice as it enters the present one."""
    lets_run: int
    """address of the function that lets other threads of the host run."""
    spins: int
    """looks at a word before it is called."""
    failed: int
    """status of the first slice with a fault, which all later ones have in place of being made."""
    shared: NDArray[np.int64]
    """[8]: 0: 1 while other threads make slices, too."""
    asked: NDArray[np.int64]
    """[8]: 0: slices that were put into the queue."""
    made: NDArray[np.int64]
    """[8]: 0: slices that were taken from it and made."""
    busy: NDArray[np.int64]
    """[8]: 0: 1 while a thread makes one."""
    queue: NDArray[np.int64]
    """[8192]: a ring: wavefront slot << 2 | whether it starts << 1 | which of its buffers."""
    workgroup: NDArray[np.int64]
    """[8192]: by wavefront slot: workgroup of the wavefront that starts."""
    place: NDArray[np.int64]
    """[8192]: its number there | workgroup slot of all CUs << 32."""
    number: NDArray[np.int64]
    """[8192]: by wavefront slot: `made` when its next slice is there, 0: not asked for."""
    bound: NDArray[np.int64]
    """[128]: cycle before which no wavefront of a CU comes to the end of a slice."""
    noted: int
    """slices that a part of the machine has asked for, not yet in the queue."""
    ordered: int
    """slices of these that are in the queue by now."""
    note: NDArray[np.int64]
    """[8192, 2]: such a slice: cycle in which it was asked for, entry of the queue."""
    running: NDArray[np.int64]
    """[128, 40]: wavefronts of a workgroup that have not entered their last slice."""
    entered: NDArray[np.int64]
    """[128, 40]: those of them in a slice that ends at the barrier to come."""

class AccessRecord(Record):
    """m.access"""

    table: int
    """address of int64 [static instruction, WIDTH], by COLUMNS; 0: nothing is counted."""
    owner: NDArray[np.int64]
    """[128, 4096]: with FINDS, what an instruction in flight is: token | static instruction << TOKEN_BITS."""
    noted: int
    """vector memory instructions whose lines are not counted yet."""
    ordered: int
    """of these, vector memory instructions whose lines are counted by now."""
    note: NDArray[np.int64]
    """[16384, 3]: such an instruction: its cycle, static instruction, address of its record."""
    row: NDArray[np.int64]
    """[64]: work area: DRAM rows of an instruction's lines."""
    of_channel: NDArray[np.int64]
    """[32]: work area: its lines by L2 channel."""
    last_in: NDArray[np.int64]
    """[64]: work area: number + 1 of the last line in a bucket, by L1 set; 0: none."""
    before: NDArray[np.int64]
    """[64]: work area: number + 1 of the line before one in its bucket; 0: none."""
    last_row_in: NDArray[np.int64]
    """[64]: work area: number + 1 of the last DRAM row in a bucket; 0: none."""
    row_before: NDArray[np.int64]
    """[64]: work area: number + 1 of the row before one in its bucket; 0: none."""

class TranslationRecord(Record):
    """m.translation"""

    page_bits: int
    """log2 of the lines of a page."""
    ideal: int
    """1: misses of the L1 TLBs are answered after the ideal latency."""
    l1_entries: int
    """entries of an L1 TLB: the ways of its only set."""
    l1_stride: int
    """slots of an L1 TLB: the entries, rounded up."""
    l1_replacement: int
    """replacement policy of the L1 TLBs."""
    l1_mshrs: int
    """pages an L1 TLB waits for at most."""
    port_limit: int
    """requests of an L1 TLB waiting at the L2 TLB at most."""
    l2_sets: int
    """sets of the L2 TLB, a power of two."""
    l2_ways: int
    """ways of the L2 TLB."""
    l2_stride: int
    """slots of a set of the L2 TLB: the ways, rounded up."""
    l2_replacement: int
    """replacement policy of the L2 TLB."""
    l2_ports: int
    """look-ups of the L2 TLB in a cycle."""
    latency: int
    """cycles from look-up in the L2 TLB to the answer; ideal: from the miss to the answer."""
    walk_limit: int
    """walks under way or waiting at most."""
    walkers: int
    """page walkers."""
    walk_cycles: int
    """cycles of a walk."""
    last: NDArray[np.int64]
    """[256]: page whose translation the user holds, -1 none."""
    wait: NDArray[np.int64]
    """[256]: page that the user waits for, -1 none."""
    ahead: NDArray[np.int64]
    """[256]: pages looked ahead that its look-up has not come to."""
    l1_rows: NDArray[np.uint32]
    """[98304]: pages and order words, one row a TLB."""
    l1_order: NDArray[np.int64]
    """[192]: running number of a TLB's look-ups and answers."""
    m_page: NDArray[np.int64]
    """[192, 32]: page that the MSHR waits for, -1 free."""
    m_sent: NDArray[np.int64]
    """[192, 32]: cycle in which it was asked for."""
    m_ready: NDArray[np.int64]
    """[192, 32]: cycle from which its answer is there, -1 not known."""
    answered: NDArray[np.int64]
    """[192]: MSHRs with an answer, there or on its way."""
    r_page: NDArray[np.int64]
    """[192, 32]: requests of an L1 TLB."""
    r_seen: NDArray[np.int64]
    """[192, 32]: cycle from which a request may be looked up."""
    r_head: NDArray[np.int64]
    """[192]: position of the oldest."""
    r_count: NDArray[np.int64]
    """[192]: requests held."""
    asking: NDArray[np.int64]
    """[6]: L1 TLBs with a request, 32 a word."""
    next_tlb: int
    """round-robin pointer: L1 TLB that is looked at first."""
    l2_rows: NDArray[np.uint32]
    """[131072]: pages and order words of the sets."""
    l2_order: int
    """running number of the L2 TLB's look-ups and walks."""
    w_page: NDArray[np.int64]
    """[256]: page walked for."""
    w_done: NDArray[np.int64]
    """[256]: cycle in which the walk is done."""
    w_tlbs: NDArray[np.int64]
    """[256, 6]: L1 TLBs that wait for it."""
    w_head: int
    """position of the oldest walk."""
    w_count: int
    """walks under way or waiting."""
    walker_free: NDArray[np.int64]
    """[256]: cycle in which a walker is free."""
    walker_next: int
    """walker of the next walk."""
    lookups: int
    """look-ups in the L1 TLBs: lines that lie in another page than the line before at the same cache [pages]."""
    hits: int
    """look-ups whose page the L1 TLB held [pages]."""
    misses: int
    """look-ups that asked the L2 TLB [pages]."""
    merges: int
    """look-ups whose page was already asked for; l1_hits + l1_misses + l1_merges = l1_lookups [pages]."""
    early: int
    """pages that a vector L1 asked for ahead, while its look-up waited for another [pages]."""
    requests: int
    """requests to the L2 TLB: l1_misses + early_requests [pages]."""
    answers: int
    """answers that the L1 TLBs took [pages]."""
    l2_hits: int
    """requests whose page the L2 TLB held; all of them in the ideal model [pages]."""
    l2_merges: int
    """requests that joined a walk [pages]."""
    walks: int
    """page walks; l2_hits + l2_merges + walks = l2_requests [pages]."""
    request_latency: int
    """sum over answers of cycles from the request to the L2 TLB [cycles]."""
    stall_cycles: int
    """cycles in which a first-level cache's look-up waited for a translation, summed over the caches [cycles]."""

class L1UnitQueueRecord(Record):
    """m.l1.unit.queue"""

    header: int
    """memory record header of the instruction, with FLAG_BYPASS and FLAG_INVALIDATE."""
    token: int
    """the core's name of it."""
    words: int
    """where its lines begin in `q_words`."""

class L1UnitMissingMshrRecord(Record):
    """m.l1.unit.missing.mshr"""

    slot: int
    """slot that its line fills, or NO_SLOT."""
    first: int
    """first target, -1 none."""
    last: int
    """last target."""

class L1UnitMissingRecord(Record):
    """m.l1.unit.missing"""

    lines: int
    """lines missing."""
    mshrs: int
    """lines missing at most."""
    first_free_target: int
    """first free target, -1 none."""
    free: NDArray[np.int32]
    """[256]: from position `lines` on: free MSHRs, the one that is taken next first."""
    mshr: RecordArray[L1UnitMissingMshrRecord]
    """[256]: missing lines."""
    next: NDArray[np.int16]
    """[4096]: next target of the line, or the next free one; -1 none."""

class L1UnitEntryRecord(Record):
    """m.l1.unit.entry"""

    at: int
    """cycle in which the last line is there; once it is known, in which the registers hold the data."""
    token: int
    """the core's name of the instruction."""
    open: int
    """lines still missing; one more until all were looked up."""
    beats: int
    """cycles on the return path."""

class L1UnitTargetRecord(Record):
    """m.l1.unit.target"""

    since: int
    """cycle of the look-up of a load that waits for a missing line."""
    entry: int
    """its return entry."""

class L1UnitRecord(Record):
    """m.l1.unit"""

    q_head: int
    """oldest queued instruction."""
    q_count: int
    """queued instructions."""
    q_position: int
    """lines of the oldest already looked up."""
    q_started: int
    """cycle of its first look-up."""
    q_entry: int
    """its return entry."""
    look_free: int
    """cycle in which look-up may take the next instruction."""
    r_head: int
    """oldest load not yet returned (a running number)."""
    r_scheduled: int
    """first load whose return is not scheduled (a running number)."""
    r_tail: int
    """one past the youngest load (a running number)."""
    bus_free: int
    """cycle in which the return path is free."""
    order: int
    """running number of the accesses to the sets."""
    dirty_lines: int
    """lines with bytes that L2 does not have."""
    write_backs_out: int
    """lines written back that L2 has not acknowledged."""
    next_dirty: int
    """slot of this cache from which the search for a dirty line goes on."""
    stores_out: int
    """store packets not yet acknowledged."""
    stalled_since: int
    """cycle from which look-up waits, -1 if it does not."""
    done_store: int
    """token + 1 of a store looked up that asks L2 for nothing, 0: none to be reported."""
    ahead: int
    """looking ahead for pages: instructions after the oldest that it has come to."""
    ahead_position: int
    """line of that instruction it looks at next."""
    ahead_page: int
    """page it has looked at last."""
    queue: RecordArray[L1UnitQueueRecord]
    """[64]: queued instructions."""
    missing: L1UnitMissingRecord
    """missing lines."""
    entry: RecordArray[L1UnitEntryRecord]
    """[256]: loads between look-up and return."""
    target: RecordArray[L1UnitTargetRecord]
    """[1024]: loads that wait for a missing line."""
    q_words: NDArray[np.int64]
    """[33792]: lines of the queued instructions, with byte masks for stores and atomics."""

class L1Record(Record):
    """m.l1"""

    sets: int
    """sets of a cache, a power of two."""
    ways: int
    """ways."""
    stride: int
    """slots of a set: the ways, rounded up."""
    replacement: int
    """replacement policy, a number of memory/sets/replacement.py."""
    rows: NDArray[np.uint32]
    """[1048576]: tags and order words of the sets, cache after cache."""
    hit_latency: int
    """cycles from look-up to data of a hit."""
    fill_latency: int
    """cycles from response to data."""
    queue_limit: int
    """queued instructions at most."""
    return_limit: int
    """loads between look-up and return at most."""
    return_ring: int
    """entries of the ring that holds them, a power of two."""
    address_cycles: int
    """least look-up cycles an instruction."""
    store_limit: int
    """unacknowledged store packets at most."""
    full_set_waits: int
    """1: a miss waits while all ways of its set are being filled."""
    bypass: int
    """1: all loads go past the cache."""
    filled_by: NDArray[np.uint32]
    """[524288]: MSHR that fills the slot, while it does."""
    write: int
    """write policy, a number of memory/cache/write_policy.py."""
    allocate: int
    """1: a store that misses gets a line."""
    keeps_stores: int
    """1: stores are looked up; else none of the next fields is used."""
    held: NDArray[np.int64]
    """[524288]: bytes held in a slot that is not being filled."""
    dirty: NDArray[np.int64]
    """[524288]: bytes in a slot that L2 does not have."""
    dirty_lines: int
    """slots with such bytes, of all CUs."""
    released: int
    """1: the kernel is done, dirty lines are written back."""
    unit: RecordArray[L1UnitRecord]
    """[128]: the caches of the CUs."""
    queued: int
    """queued instructions of all CUs."""
    since: int
    """cycle of the first look-up, 0: there was none."""
    reads: int
    """lines looked up by loads [accesses]."""
    writes: int
    """lines written or updated atomically [accesses]."""
    hits: int
    """accesses that found their line [accesses]."""
    misses: int
    """accesses that found neither their line nor an outstanding miss to it; stores and atomics that go on to L2 count
    here [accesses]."""
    merges: int
    """accesses that joined an outstanding miss [accesses]."""
    latency: int
    """sum over answered reads of cycles from the access at the cache to its response [cycles]."""
    write_allocations: int
    """those of the misses that are stores whose bytes stay in a new line [accesses]."""
    write_backs: int
    """dirty lines written to L2: replaced, asked for by atomics, or released [lines]."""
    busy: int
    """cycles in which a line was looked up, summed over CUs [cycles]."""
    return_busy: int
    """cycles in which the return path moved data, summed over CUs [cycles]."""
    stall_cycles: int
    """cycles in which look-up waited for an MSHR, a queue or a return entry, summed over CUs [cycles]."""
    bytes_asked_for: int
    """bytes that active lanes read, write or change, whichever lines they lie in [bytes]."""
    span_cycles: int
    """from the first line looked up to the last one, both included, in any of them [cycles]."""

class ScalarMissingMshrRecord(Record):
    """m.scalar.missing.mshr"""

    slot: int
    """slot that its line fills, or NO_SLOT."""
    first: int
    """first target, -1 none."""
    last: int
    """last target."""

class ScalarMissingRecord(Record):
    """m.scalar.missing"""

    lines: int
    """lines missing."""
    mshrs: int
    """lines missing at most."""
    first_free_target: int
    """first free target, -1 none."""
    free: NDArray[np.int32]
    """[256]: from position `lines` on: free MSHRs, the one that is taken next first."""
    mshr: RecordArray[ScalarMissingMshrRecord]
    """[256]: missing lines."""
    next: NDArray[np.int16]
    """[4096]: next target of the line, or the next free one; -1 none."""

class ScalarRecord(Record):
    """m.scalar"""

    sets: int
    """sets of a cache, a power of two."""
    ways: int
    """ways."""
    stride: int
    """slots of a set: the ways, rounded up."""
    replacement: int
    """replacement policy, a number of memory/sets/replacement.py."""
    rows: NDArray[np.uint32]
    """[524288]: tags and order words of the sets, cache after cache."""
    order: NDArray[np.int64]
    """[64]: running number of the accesses to a cache's sets."""
    missing: RecordArray[ScalarMissingRecord]
    """[64]: missing lines of a cache."""
    filled_by: NDArray[np.int64]
    """[262144]: MSHR that fills the slot, while it does."""
    target: NDArray[np.int64]
    """[64, 512]: entry that waits for a missing line."""
    reads: int
    """lines looked up by loads [accesses]."""
    writes: int
    """lines written [accesses]."""
    hits: int
    """accesses that found their line [accesses]."""
    misses: int
    """accesses that found neither their line nor an outstanding miss to it; stores, which are written through, count
    here [accesses]."""
    merges: int
    """accesses that joined an outstanding miss [accesses]."""
    arrays: int
    """shader arrays."""
    cus_per_array: int
    """CUs that share a cache."""
    latency: int
    """cycles from look-up or fill to the data."""
    queue_limit: int
    """queued instructions of a CU at most."""
    e_pending: NDArray[np.int64]
    """[64, 256]: lines or acknowledgements the instruction waits for."""
    e_looked_up: NDArray[np.int64]
    """[64, 256]: 1: all its lines were looked up."""
    e_who: NDArray[np.int64]
    """[64, 256]: the core's name of the instruction."""
    e_next: NDArray[np.int64]
    """[64, 256]: next free entry, -1 none."""
    e_free: NDArray[np.int64]
    """[64]: first free entry, -1 none."""
    q_header: NDArray[np.int64]
    """[128, 32]: memory record header of a CU's queued instruction."""
    q_who: NDArray[np.int64]
    """[128, 32]: the core's name of it."""
    q_words: NDArray[np.int64]
    """[128, 32, 4]: its lines, with byte masks for stores."""
    q_head: NDArray[np.int64]
    """[128]: oldest queued instruction."""
    q_count: NDArray[np.int64]
    """[128]: queued instructions."""
    queued: int
    """queued instructions of all CUs."""
    waiting: NDArray[np.int64]
    """[64]: mask of the array's CUs that have queued instructions."""
    next_cu: NDArray[np.int64]
    """[64]: round-robin pointer: CU of the array whose queue comes first."""
    q_cu: NDArray[np.int64]
    """[64]: CU whose oldest instruction is looked up."""
    q_position: NDArray[np.int64]
    """[64]: lines of that already looked up."""
    q_entry: NDArray[np.int64]
    """[64]: its entry, -1 before its first look-up."""
    done: NDArray[np.int64]
    """[64, 1024, 2]: finished instructions: cycle in which the data is there, core's name."""
    done_head: NDArray[np.int64]
    """[64]: oldest finished instruction."""
    done_count: NDArray[np.int64]
    """[64]: finished instructions."""

class IcacheMissingMshrRecord(Record):
    """m.icache.missing.mshr"""

    slot: int
    """slot that its line fills, or NO_SLOT."""
    first: int
    """first target, -1 none."""
    last: int
    """last target."""

class IcacheMissingRecord(Record):
    """m.icache.missing"""

    lines: int
    """lines missing."""
    mshrs: int
    """lines missing at most."""
    first_free_target: int
    """first free target, -1 none."""
    free: NDArray[np.int32]
    """[256]: from position `lines` on: free MSHRs, the one that is taken next first."""
    mshr: RecordArray[IcacheMissingMshrRecord]
    """[256]: missing lines."""
    next: NDArray[np.int16]
    """[4096]: next target of the line, or the next free one; -1 none."""

class IcacheRecord(Record):
    """m.icache"""

    sets: int
    """sets of a cache, a power of two."""
    ways: int
    """ways."""
    stride: int
    """slots of a set: the ways, rounded up."""
    replacement: int
    """replacement policy, a number of memory/sets/replacement.py."""
    rows: NDArray[np.uint32]
    """[524288]: tags and order words of the sets, cache after cache."""
    order: NDArray[np.int64]
    """[64]: running number of the accesses to a cache's sets."""
    missing: RecordArray[IcacheMissingRecord]
    """[64]: missing lines of a cache."""
    ideal: int
    """1: instructions are always there."""
    banks: int
    """banks, a power of two."""
    bank_line: NDArray[np.int64]
    """[32]: line that the bank reads now; in one array's cycle, for the banks in use."""
    latency: int
    """cycles from look-up or fill to the instruction buffer."""
    prefetch: int
    """lines fetched with a missing one."""
    last_line: int
    """last line of the code, after which nothing is prefetched."""
    hits: int
    """fetches that found their line [accesses]."""
    misses: int
    """fetches that asked L2 for their line [accesses]."""
    merges: int
    """fetches that joined an outstanding miss [accesses]."""
    prefetches: int
    """lines asked for after a missing one; not among the misses [lines]."""
    bank_reads: NDArray[np.int64]
    """[32]: lines that banks read for fetches, one read for all that want the line in one cycle [lines]."""
    bank_conflicts: int
    """cycles in which a fetch found its bank reading another line for another CU, summed over CUs [cycles]."""
    latency_total: int
    """sum over lines that came of cycles from the miss or prefetch to the line [cycles]."""
    outstanding: int
    """lines asked for that have not come."""
    target: NDArray[np.int64]
    """[64, 64]: cycle in which a missing line was asked for."""

class L2MissingMshrRecord(Record):
    """m.l2.missing.mshr"""

    slot: int
    """slot that its line fills, or NO_SLOT."""
    first: int
    """first target, -1 none."""
    last: int
    """last target."""

class L2MissingRecord(Record):
    """m.l2.missing"""

    lines: int
    """lines missing."""
    mshrs: int
    """lines missing at most."""
    first_free_target: int
    """first free target, -1 none."""
    free: NDArray[np.int32]
    """[256]: from position `lines` on: free MSHRs, the one that is taken next first."""
    mshr: RecordArray[L2MissingMshrRecord]
    """[256]: missing lines."""
    next: NDArray[np.int16]
    """[4096]: next target of the line, or the next free one; -1 none."""

class L2Record(Record):
    """m.l2"""

    sets: int
    """sets of a cache, a power of two."""
    ways: int
    """ways."""
    stride: int
    """slots of a set: the ways, rounded up."""
    replacement: int
    """replacement policy, a number of memory/sets/replacement.py."""
    rows: NDArray[np.uint32]
    """[2097152]: tags and order words of the sets, cache after cache."""
    channels: int
    """channels in use."""
    latency: int
    """cycles from look-up to answer."""
    fill_latency: int
    """cycles from fill to answer."""
    input_limit: int
    """requests waiting at a channel at most."""
    write: int
    """write policy, a number of memory/cache/write_policy.py."""
    allocate: int
    """1: a write that misses gets a line."""
    passes_on: int
    """1: not every write stays here: it is not write-back, or does not allocate."""
    atomic_result: NDArray[np.int64]
    """[32]: what the look-up of a waiting atomic gave at first, HIT before it."""
    order: NDArray[np.int64]
    """[32]: running number of the accesses to the channel's sets."""
    part_bits: int
    """log2 of the parts of 64 bytes of a line."""
    note: NDArray[np.uint16]
    """[1048576]: of a slot's part: codes of its masks HELD and DIRTY; of the first: its MSHR."""
    mask: NDArray[np.int64]
    """[1048576, 2]: a part's masks HELD and DIRTY where they are SOME_BYTES."""
    coming: NDArray[np.int64]
    """[32, 256]: mask of the parts that are fetched for an MSHR."""
    left: NDArray[np.int64]
    """[32, 256]: how many of them have not come."""
    due: NDArray[np.int64]
    """[32]: the part's line + 1 that DRAM has to be asked for next, 0: none."""
    due_mshr: NDArray[np.int64]
    """[32]: its MSHR."""
    missing: RecordArray[L2MissingRecord]
    """[32]: missing lines of a channel."""
    target: NDArray[np.int64]
    """[32, 4096, 4]: requests waiting for a line, by T_SOURCE ... T_PART."""
    input: NDArray[np.int64]
    """[32, 64, 8]: waiting requests: P_LINE ... P_MASK; P_READY: cycle it came; P_BASE: first slot of its line's
    set."""
    i_head: NDArray[np.int64]
    """[32]: oldest waiting request."""
    i_count: NDArray[np.int64]
    """[32]: waiting requests."""
    waits_for: NDArray[np.int64]
    """[32]: resource + 1 that the oldest request found used up, 0: look it up."""
    flushes: int
    """1: when nothing is to be done any more, dirty lines are written back."""
    flush_at: NDArray[np.int64]
    """[32]: parts of a channel's slots that a flush has gone over."""
    attributed_to: NDArray[np.int64]
    """[32]: cycle up to which the present stall is attributed."""
    engine_part: NDArray[np.int64]
    """[32]: its cycles that are the engine's."""
    freed_by_engine: NDArray[np.int64]
    """[32]: 1: a compacted line ended the wait of the oldest request."""
    missed_in: NDArray[np.int64]
    """[32]: slot of way 0 of the set in which a request has missed last."""
    since: int
    """cycle of the first access, 0: there was none."""
    reads: int
    """read requests [accesses]."""
    writes: int
    """write requests, atomics apart [accesses]."""
    atomics: int
    """atomic requests [accesses]."""
    hits: int
    """accesses that found their line [accesses]."""
    read_hits: int
    """those of the hits that are reads [accesses]."""
    misses: int
    """accesses that found neither their line nor an outstanding miss to it; writes that allocate a line without a fetch
    count here [accesses]."""
    merges: int
    """accesses that joined an outstanding miss [accesses]."""
    write_allocations: int
    """those of the misses that are writes, which fetch nothing [accesses]."""
    sparse_misses: int
    """those of the misses that went to the compaction engine [accesses]."""
    write_backs: int
    """dirty lines of 64 bytes written to DRAM, replaced or flushed; else what is dirty at a kernel's end stays
    [lines]."""
    flush_write_backs: int
    """those of the write-backs that a flush made, before or after the kernel [lines]."""
    flush_cycles: int
    """cycles of the kernel's in which L2 was flushed, before its start or after its end [cycles]."""
    write_throughs: int
    """writes and atomics whose bytes went on to DRAM at once [accesses]."""
    bytes_to_dram: int
    """dirty bytes of write-backs, and bytes of what went on to DRAM at once [bytes]."""
    writes_around: int
    """those of the misses that are writes and got no line [accesses]."""
    fills: int
    """lines of 64 bytes that came from DRAM [lines]."""
    sparse_fills: int
    """lines of 64 bytes that came from the compaction engine [lines]."""
    paired_fetches: int
    """those of the fills that were the other half of a missing line of 128 bytes [lines]."""
    read_latency: int
    """sum over answered reads of cycles from the access at the cache to its response [cycles]."""
    reads_answered: int
    """reads answered [accesses]."""
    bytes_written: int
    """bytes that writes and atomics name [bytes]."""
    span_cycles: int
    """from the first line looked up to the last one, both included, in any channel [cycles]."""
    stall_cycles: NDArray[np.int64]
    """[32]: cycles in which a channel's oldest request waited for an MSHR, a way or a queue, summed over channels
    [cycles]."""
    engine_stall_cycles: NDArray[np.int64]
    """[32]: those of the full_stall_cycles that ended when the compaction engine sent a line or took a sparse miss
    [cycles]."""
    stalled_since: NDArray[np.int64]
    """[32]: cycle from which it waits, -1 if it does not."""

class EngineRecord(Record):
    """m.engine"""

    prefetch_length: int
    """sparse lines read ahead of the last demanded one."""
    demand_window: int
    """sparse lines of a column in flight for a demand of unknown end."""
    lookups_per_cycle: int
    """requests looked up a cycle."""
    lookup_cycles: int
    """cycles of a look-up."""
    lookup_capacity: int
    """requests in the look-up pipeline."""
    shifters: int
    """bit searches at a time."""
    scan_bits: int
    """bitmask bits searched a cycle."""
    mapping_sums: int
    """mapping entries added up a cycle."""
    units: int
    """compaction units."""
    compu_latency: int
    """cycles from entering a unit to the lane."""
    buffer_read: int
    """cycles from a finished line to its leaving."""
    sib_replacement: int
    """policy by which SIB entries are replaced (spartan/replacement.py)."""
    lane_replacement: int
    """policy by which lanes are closed."""
    cmi_replacement: int
    """policy by which mappings leave a column's window."""
    sum_from: int
    """which way mappings are added up, a number of spartan/search.py."""
    sets: int
    """sets of the SIB's directory."""
    ways: int
    """SIB entries of a set."""
    addresses_per_cycle: int
    """reads issued a cycle."""
    unit_lines: int
    """sparse lines of a unit's data buffer."""
    banks: int
    """banks of the prefetch buffer, 0: accesses never conflict."""
    bank_ports: int
    """lines that a bank reads or writes a cycle."""
    on_write: int
    """1: the regions lie compacted in DRAM (spartan/written.py)."""
    mappings: int
    """mapping entries of a SIB entry."""
    bitmask_words: int
    """32-bit bitmask words of a SIB entry."""
    line_bits: int
    """width of a line count in the metadata."""
    memory: int
    """host address that device address 0 would have in the memory image."""
    regions: int
    """sparse regions."""
    region_line: NDArray[np.int64]
    """[8]: first line of a region."""
    region_end: NDArray[np.int64]
    """[8]: first line after a region."""
    region_stride: NDArray[np.int64]
    """[8]: lines from column to column."""
    region_rows: NDArray[np.int64]
    """[8]: rows."""
    region_lines: NDArray[np.int64]
    """[8]: sparse lines of a column."""
    region_column: NDArray[np.int64]
    """[8]: number of a region's first column among all columns."""
    region_format: NDArray[np.int64]
    """[8]: number of its format (spartan/selection.py)."""
    region_list: NDArray[np.int64]
    """[8]: host address of the bits of the lines that go on, 0: no list."""
    region_image: NDArray[np.int64]
    """[8]: host address of the packed matrix."""
    region_numbers: NDArray[np.int64]
    """[8]: host address of its lines' numbers, 0: they have none."""
    region_counts: NDArray[np.int64]
    """[8]: host address of its compacted lines by column, int64."""
    entry_of_column: int
    """host address of an int32 a column: 1 + its SIB entry, 0 if it has none."""
    writing: int
    """1: the write phase is not over."""
    unwritten: int
    """columns whose lines have not all left their unit in it."""
    write_units: int
    """columns under way in it at most, each in the unit of that number."""
    write_region: int
    """region of the next column that a unit takes."""
    write_column: int
    """that column of the region."""
    region_written: NDArray[np.int64]
    """[8]: host address of what the write phase has written of a region."""
    lines_of_column: int
    """host address of an int32 a column: its compacted lines, 0: all of it is zero."""
    meta: NDArray[np.int64]
    """[131072]: 48-bit metadata of an entry."""
    bitmask: NDArray[np.int64]
    """[1048576]: sparsity bitmasks, 32 bits a word."""
    cmi: NDArray[np.int16]
    """[4194304]: mapping bytes, a ring of `mappings` an entry."""
    entry_region: NDArray[np.int64]
    """[131072]: region of an entry's column (follows from the column number)."""
    entry_lane: NDArray[np.int64]
    """[131072, 2]: open lane of an entry by kind, or NONE."""
    entry_next: NDArray[np.int64]
    """[131072]: towards the entry that is replaced last."""
    entry_prev: NDArray[np.int64]
    """[131072]: towards the entry that is replaced first."""
    set_first: NDArray[np.int64]
    """[131072]: entry of a set that is replaced first."""
    set_last: NDArray[np.int64]
    """[131072]: entry that is replaced last."""
    set_used: NDArray[np.int64]
    """[131072]: entries of a set allocated so far."""
    lane_entry: NDArray[np.int64]
    """[65536]: SIB entry of a lane, NONE: closed."""
    lane_kind: NDArray[np.int64]
    """[65536]: PROFILE or REPLAY."""
    lane_serial: NDArray[np.int64]
    """[65536]: number of the opening: tells reads of an earlier one apart."""
    lane_slot: NDArray[np.int64]
    """[65536]: buffer line under construction, NONE when the column is complete."""
    lane_count: NDArray[np.int64]
    """[65536]: bundles in it, 0 to 16."""
    lane_line: NDArray[np.int64]
    """[65536]: compacted line under construction."""
    lane_consumed: NDArray[np.int64]
    """[65536]: sparse lines compacted since the opening."""
    lane_issued: NDArray[np.int64]
    """[65536]: sparse lines issued since the opening."""
    lane_limit: NDArray[np.int64]
    """[65536]: lane_issued up to which a search of unknown end may go."""
    lane_position: NDArray[np.int64]
    """[65536]: sparse line from which the search goes on."""
    lane_restart: NDArray[np.int64]
    """[65536]: compacted line at which the next issued read starts anew, or NONE."""
    lane_skip: NDArray[np.int64]
    """[65536]: elements of that read that belong to earlier lines."""
    lane_todo: NDArray[np.int64]
    """[65536]: reads left of an accurate search."""
    lane_exact: NDArray[np.int64]
    """[65536]: compacted line that starts after the reads issued, NONE if not known."""
    lane_run: NDArray[np.int64]
    """[65536]: compacted line at which the prudent run began, NONE: no run."""
    lane_restarts: NDArray[np.int64]
    """[65536]: restarts issued and not yet compacted."""
    lane_read_first: NDArray[np.int64]
    """[65536]: oldest read not yet in a unit."""
    lane_read_last: NDArray[np.int64]
    """[65536]: newest read."""
    lane_filled_first: NDArray[np.int64]
    """[65536]: oldest finished line held."""
    lane_filled_last: NDArray[np.int64]
    """[65536]: newest finished line held."""
    lane_waiter: NDArray[np.int64]
    """[65536]: first waiting request."""
    lane_in_unit: NDArray[np.int64]
    """[65536]: 1: in its unit's queue."""
    lane_unit_next: NDArray[np.int64]
    """[65536]: next lane in it."""
    lane_in_issue: NDArray[np.int64]
    """[2, 65536]: 1: in the issue queue DEMAND or AHEAD."""
    lane_issue_next: NDArray[np.int64]
    """[2, 65536]: next lane in it."""
    lane_blocked: NDArray[np.int64]
    """[65536]: 1: waits for a DRAM channel's queue."""
    lane_blocked_next: NDArray[np.int64]
    """[65536]: next lane that does."""
    lane_unit_full: NDArray[np.int64]
    """[65536]: 1: waits for a line of its unit's data buffer."""
    lane_unit_full_next: NDArray[np.int64]
    """[65536]: next lane that does."""
    lane_next: NDArray[np.int64]
    """[65536]: towards the lane that is closed last; next free lane."""
    lane_prev: NDArray[np.int64]
    """[65536]: towards the lane that is closed first."""
    lane_first: int
    """open lane that is closed first."""
    lane_last: int
    """open lane that is closed last."""
    lane_free: int
    """first free lane."""
    lane_openings: int
    """lanes opened so far."""
    slot_bundles: NDArray[np.int64]
    """[65536, 16]: a compacted line."""
    slot_line: NDArray[np.int64]
    """[65536]: its number in its column."""
    slot_number: NDArray[np.int64]
    """[65536]: number of the newest sparse line that it has words of."""
    slot_reads: NDArray[np.int64]
    """[65536]: reads that count as needed once it is delivered."""
    slot_ready: NDArray[np.int64]
    """[65536]: write phase: cycle from which it may go to DRAM, to line `slot_line`."""
    slot_next: NDArray[np.int64]
    """[65536]: next finished line of the lane; next free slot."""
    slot_free: int
    """first free slot."""
    slots_free: int
    """free slots."""
    request_channel: NDArray[np.int64]
    """[4096]: L2 channel."""
    request_mshr: NDArray[np.int64]
    """[4096]: L2 MSHR."""
    request_region: NDArray[np.int64]
    """[4096]: region, NONE: none."""
    request_column: NDArray[np.int64]
    """[4096]: column of the region."""
    request_line: NDArray[np.int64]
    """[4096]: compacted line of the column."""
    request_arrival: NDArray[np.int64]
    """[4096]: cycle of arrival."""
    request_covered: NDArray[np.int64]
    """[4096]: 1: an accurate search has been started for it."""
    request_next: NDArray[np.int64]
    """[4096]: next waiting request of the lane; next free."""
    request_free: int
    """first free request."""
    requests_held: int
    """requests taken and not answered."""
    fetch_first: NDArray[np.int64]
    """[32]: oldest request that waits for a read of its compacted line."""
    fetch_last: NDArray[np.int64]
    """[32]: newest one."""
    lookup_ready: NDArray[np.int64]
    """[1024]: cycle in which a look-up is done."""
    lookup_request: NDArray[np.int64]
    """[1024]: its request."""
    lookup_head: int
    """position of the oldest look-up."""
    lookup_count: int
    """look-ups held."""
    lookup_since: int
    """cycle from which the oldest look-up is blocked, NONE: it is not."""
    next_channel: int
    """L2 channel that is asked first."""
    output_free: NDArray[np.int64]
    """[32]: cycle from which an L2 channel can take an answer."""
    read_line: NDArray[np.int64]
    """[1024]: sparse line of the column."""
    read_unit: NDArray[np.int64]
    """[1024]: unit whose data buffer it has a line of."""
    read_lane: NDArray[np.int64]
    """[1024]: lane, NONE: closed meanwhile."""
    read_serial: NDArray[np.int64]
    """[1024]: opening of the lane."""
    read_state: NDArray[np.int64]
    """[1024]: IN_FLIGHT, ARRIVED or IN_UNIT."""
    read_restart: NDArray[np.int64]
    """[1024]: compacted line that starts with it, or NONE."""
    read_skip: NDArray[np.int64]
    """[1024]: its elements that belong to earlier lines."""
    read_request: NDArray[np.int64]
    """[1024]: request that a read of a compacted line answers."""
    read_region: NDArray[np.int64]
    """[1024]: write phase: region of a line that a unit has taken."""
    read_column: NDArray[np.int64]
    """[1024]: and its column of the region."""
    read_next: NDArray[np.int64]
    """[1024]: next read of the lane; next free."""
    read_free: int
    """first free read."""
    reads_held: int
    """reads issued and not compacted."""
    issue_first: NDArray[np.int64]
    """[2]: first lane of the issue queues."""
    issue_last: NDArray[np.int64]
    """[2]: last lane."""
    shifter_ready: NDArray[np.int64]
    """[32]: cycle from which a shifter is free, or has its result."""
    shifter_lane: NDArray[np.int64]
    """[32]: lane that it searches for, or NONE."""
    shifter_found: NDArray[np.int64]
    """[32]: 1: the search is over, the read is to be issued."""
    addresses_left: int
    """reads that may still be issued in this cycle."""
    blocked_first: NDArray[np.int64]
    """[32]: first lane that waits for a DRAM channel's queue."""
    blocked_last: NDArray[np.int64]
    """[32]: last lane."""
    unit_mask: int
    """units with a lane in their queue."""
    unit_lines_held: NDArray[np.int64]
    """[62]: lines of a unit's data buffer that reads have."""
    unit_full_first: NDArray[np.int64]
    """[62]: first lane that waits for one."""
    unit_full_last: NDArray[np.int64]
    """[62]: last lane."""
    unit_first: NDArray[np.int64]
    """[62]: first lane of a unit's queue."""
    unit_last: NDArray[np.int64]
    """[62]: last lane."""
    unit_region: NDArray[np.int64]
    """[62]: write phase: region of the column that a unit takes lines of."""
    unit_column: NDArray[np.int64]
    """[62]: that column of the region."""
    unit_line: NDArray[np.int64]
    """[62]: the column's line that it takes next, NONE: it has no column."""
    unit_slot: NDArray[np.int64]
    """[62]: buffer line under construction, or NONE."""
    unit_count: NDArray[np.int64]
    """[62]: bundles in it."""
    unit_compacted: NDArray[np.int64]
    """[62]: compacted lines of its column that are finished."""
    out_first: NDArray[np.int64]
    """[32]: oldest finished line that goes to a DRAM channel."""
    out_last: NDArray[np.int64]
    """[32]: newest one."""
    pipe_ready: NDArray[np.int64]
    """[1024]: cycle in which a line leaves its unit."""
    pipe_read: NDArray[np.int64]
    """[1024]: its read."""
    pipe_head: int
    """position of the oldest line in a unit."""
    pipe_count: int
    """lines in units."""
    unit_bundles: NDArray[np.int64]
    """[16]: bundles of the line that leaves a unit, by element."""
    bank_next: NDArray[np.int64]
    """[64]: cycle * ports + port from which a bank is free."""
    scanned: int
    """bits that the last search went over."""
    summed: int
    """mapping entries that it added up."""
    requests: int
    """sparse L2 misses that the engine took [requests]."""
    accurate: int
    """those searched in accurate mode (compacted line's mapping held) [requests]."""
    prudent: int
    """those searched in prudent mode (by the sparsity bitmask) [requests]."""
    hasty: int
    """those searched in hasty mode (line after line, warm-up) [requests]."""
    prefetch_buffer_hits: int
    """those answered by a compacted line already in the prefetch buffer [requests]."""
    past_end: int
    """those answered at look-up from the column's known length: past its end, or all zero [requests]."""
    compacted_fetched: int
    """those answered by a compacted line read from DRAM, where the write phase had put it (compact: on_write)
    [requests]."""
    responses: int
    """compacted lines sent to L2 [responses]."""
    response_mismatches: int
    """those that differ from the packed matrix in a bit or in `last`; always 0 [responses]."""
    faults: int
    """requests outside every sparse region; always 0, the functional part refuses them [requests]."""
    lines_fetched: int
    """sparse lines read from DRAM by the engine [lines]."""
    lines_needed: int
    """those with at least one non-zero that went into a delivered compacted line [lines]."""
    lines_wasted: int
    """those that were not needed; lines_needed + lines_wasted = lines_fetched [lines]."""
    lines_handed_over: int
    """dense lines of the sparse regions that L2 handed over in the write phase (compact: on_write) [lines]."""
    compacted_written: int
    """compacted lines that the engine wrote to DRAM in the write phase [lines]."""
    write_phase_cycles: int
    """cycles of the write phase, before the launch's first workgroup [cycles]."""
    sib_evictions: int
    """columns whose sparsity-information entry was replaced [entries]."""
    cmi_evictions: int
    """mapping entries that left a column's full window [entries]."""
    buffer_evictions: int
    """prefetch-buffer lanes closed to make space [lanes]."""
    buffer_lines_dropped: int
    """finished compacted lines that nobody waited for and that found no space [lines]."""
    lookup_blocked_cycles: int
    """cycles the oldest looked-up request waited for a SIB entry or a lane [cycles]."""
    bank_conflict_cycles: int
    """cycles that lines waited for a port of their bank of the prefetch buffer, summed over reads and writes
    [cycles]."""
    searches_anew: int
    """those that began at the column's first bit or at its mappings, as no lane stood where its line begins
    [searches]."""
    shifter_busy_cycles: int
    """cycles that shifters searched, or waited for an address calculator, summed over the shifters [cycles]."""
    compu_busy_cycles: int
    """cycles a compaction unit took a line, summed over the units [cycles]."""
    l2_stall_cycles: int
    """cycles a channel's sparse-miss queue was full, whether or not a miss waited, summed over the channels
    [cycles]."""
    latency_cycles: int
    """from a request's arrival to its answer's leaving for L2, summed over the answers [cycles]."""
    latency_histogram: NDArray[np.int64]
    """[24]: answers by latency: bucket b counts latencies of 2^b to 2^(b+1) - 1 cycles [requests]."""

class DramChannelSlotRecord(Record):
    """m.dram.channel.slot"""

    order: int
    """its number in the order of arrival."""
    arrived: int
    """clock in which the scheduler got it."""
    visible: int
    """core cycle in which the scheduler gets it."""
    row: int
    """row of the line."""
    next: int
    """next younger of the bank, or next free slot."""
    previous: int
    """next older of the bank."""
    left: int
    """bursts still to do, one bit each."""
    bank: int
    """bank of the line."""
    kind: int
    """READ or WRITE."""
    local: int
    """line number in the channel."""
    port: int
    """port that awaits a read."""
    tag: int
    """what the read answers."""
    found: int
    """HIT, CLOSED or CONFLICT."""

class DramChannelRecord(Record):
    """m.dram.channel"""

    clock: int
    """next clock to decide."""
    next_look: int
    """core cycle in which the channel looks at its requests again, NEVER: when one comes."""
    done: NDArray[np.int64]
    """[256, 2]: ring of slots whose last burst is decided: core cycle of it (NEVER at the head: none), slot."""
    done_head: int
    """position of the oldest."""
    done_count: int
    """slots in the ring."""
    earliest: NDArray[np.int64]
    """[132, 8]: first clock of each command, by bank, bank group and rank."""
    refresh_due: int
    """clock from which a refresh is due."""
    refresh_at: NDArray[np.int64]
    """[4]: by rank: clock from which its next refresh is due."""
    refresh_next: NDArray[np.int64]
    """[4]: by rank: which set of banks it covers."""
    blocked: int
    """banks whose rows wait for a due refresh, while one is due."""
    closing: int
    """of them those that have no bursts before it."""
    direction: int
    """READ or WRITE: who has the data bus."""
    served: int
    """requests served since the direction changed."""
    read_idle_since: int
    """clock of the last read when none is left."""
    held: NDArray[np.int64]
    """[2]: reads, writes accepted and not served."""
    listed: NDArray[np.int64]
    """[2]: of them those that have reached the scheduler."""
    sequence: int
    """requests that have reached the scheduler so far."""
    inbound: NDArray[np.int64]
    """[256]: ring of slots on their way to the scheduler."""
    inbound_head: int
    """position of the oldest."""
    inbound_count: int
    """slots in the ring."""
    free: int
    """first free slot, linked through `next`."""
    bucket: NDArray[np.int32]
    """[256]: first held write of a hash bucket, -1: none."""
    bucket_next: NDArray[np.int32]
    """[256]: by slot: next write of its hash bucket."""
    mask: NDArray[np.int64]
    """[256]: by slot: bytes of a write."""
    first_burst: NDArray[np.int64]
    """[256]: by slot: core cycle of a write's first burst, NEVER: not decided."""
    window: NDArray[np.int64]
    """[8, 32]: by rank and rule: clocks of the last activates."""
    window_oldest: NDArray[np.int64]
    """[8]: position of the oldest of them."""
    column_not_before: int
    """clock before which no bank can be read or written."""
    activate_not_before: int
    """clock before which no bank can be opened."""
    precharge_not_before: int
    """clock before which no bank can be closed."""
    ideal_free: int
    """ideal model: when the channel is free, in 1e-6 core cycles."""
    reads: int
    """reads accepted, for L2 fills and for the engine [lines]."""
    engine_reads: int
    """those of the reads that the compaction engine issued [lines]."""
    writes: int
    """writes accepted [lines]."""
    read_forwards: int
    """reads answered from a queued write of the whole line [lines]."""
    write_merges: int
    """writes that joined a queued write of the same line [lines]."""
    bytes_read: int
    """read over the data bus [bytes]."""
    bytes_written: int
    """written over the data bus, masked bytes of a burst included [bytes]."""
    bytes_dirty: int
    """those of the bytes_written that are not masked [bytes]."""
    bytes_merged: int
    """bytes of writes that a queued write of the line had as well [bytes]."""
    masked_bursts: int
    """bursts written of which some bytes are masked [bursts]."""
    row_hits: int
    """accesses that found their row open [accesses]."""
    row_misses: int
    """accesses that found their bank precharged [accesses]."""
    row_conflicts: int
    """accesses that found another row open in their bank [accesses]."""
    activates: int
    """rows opened [commands]."""
    precharges: int
    """precharge commands, precharge-all counted once [commands]."""
    refreshes: int
    """refreshes of a rank or of a set of banks, summed over channels [commands]."""
    data_bus_busy: int
    """clocks in which the data bus carried data, summed over channels [command clocks]."""
    batches: int
    """runs of reads or of writes on the data bus, between its turnarounds [batches]."""
    read_latency: int
    """sum over reads of cycles from entering the controller's queue to the data [cycles]."""
    read_latency_max: int
    """the longest of them [cycles]."""
    open_row: NDArray[np.int64]
    """[64]: open row, -1: precharged."""
    open_banks: int
    """banks with an open row."""
    last_access: NDArray[np.int64]
    """[64]: clock of the last read or write."""
    overtaken: NDArray[np.int64]
    """[2, 64]: reads, writes served before the bank's oldest, where the scheduler counts them."""
    head: NDArray[np.int64]
    """[2, 64]: oldest read, write of the bank, -1: none."""
    tail: NDArray[np.int64]
    """[2, 64]: youngest read, write of the bank."""
    chosen: NDArray[np.int64]
    """[2, 64]: read, write that the bank serves next."""
    claim: NDArray[np.int64]
    """[2, 64]: of that: order of arrival * MAX_BANKS + bank; the least goes first."""
    hits: NDArray[np.int64]
    """[2]: banks whose chosen request finds its row open."""
    misses: NDArray[np.int64]
    """[2]: banks whose chosen request needs a row command."""
    begun: NDArray[np.int64]
    """[2]: banks whose chosen request has had some of its bursts."""
    slot: RecordArray[DramChannelSlotRecord]
    """[256]: requests held."""

class DramRecord(Record):
    """m.dram"""

    least: NDArray[np.int64]
    """[40, 8]: by level * PRECEDING + command, later command: clocks between them, 0: no rule."""
    reaches_further: NDArray[np.int64]
    """[8]: 1: the command holds back more than `REACH` says, or other ranks."""
    masks_take_clocks: int
    """1: what masks of writes take of the command bus is in the rules."""
    windows: int
    """rules over a window of activates."""
    window_size: NDArray[np.int64]
    """[2]: activates in the window."""
    window_distance: NDArray[np.int64]
    """[2, 8]: clocks from the oldest activate in it, by later command."""
    read_data_end: int
    """read command to the end of its data."""
    burst_clocks: int
    """data-bus clocks of a burst."""
    refresh_interval: int
    """clocks between two refreshes of a rank."""
    refresh_grace: int
    """clocks for which a due refresh waits for requests of open rows."""
    refresh_command: int
    """REFRESH or REFRESH_BANK."""
    refresh_sets: int
    """refreshes until each bank of a rank had its own."""
    refresh_set: NDArray[np.int64]
    """[64]: banks that successive refreshes cover, of rank 0."""
    refreshes_everything: int
    """1: a refresh leaves no bank of the channel to work."""
    ideal: int
    """1: fixed latency and bandwidth instead of banks and commands."""
    ideal_latency: int
    """latency of the ideal model in core cycles."""
    ideal_line_microcycles: int
    """a channel's time for a line in 1e-6 core cycles, 0: no limit."""
    clocks: int
    """command clocks in `cycles` core cycles."""
    cycles: int
    """core cycles of `clocks` command clocks."""
    request_latency: int
    """core cycles from acceptance to the scheduler, at least 1."""
    look_ahead: int
    """core cycles that a channel may decide ahead of time; any number gives the same results."""
    response_latency: int
    """core cycles from the end of the data to delivery."""
    depth: NDArray[np.int64]
    """[2]: reads, writes that a channel holds."""
    write_high: int
    """held writes that start a drain."""
    write_low: int
    """held writes that end a drain if reads wait."""
    write_batch: int
    """requests served in a direction while the other side presses, but for those of open rows."""
    longest_run: int
    """the same with those of open rows."""
    write_idle: int
    """clocks without reads after which few writes are written too."""
    age_cap: int
    """clocks after which a request goes before row hits."""
    hit_cap: int
    """row hits that may overtake a bank's oldest request, where the scheduler counts them."""
    scheduler: int
    """number of the scheduler in `SCHEDULERS`."""
    page_policy: int
    """number of the page policy in `PAGE_POLICIES`."""
    page_timeout: int
    """clocks after the last access after which the policy closes a row."""
    split_bus: int
    """1: row commands have a bus of their own."""
    special: int
    """1: ranks, policies, refresh or rules that not every configuration has."""
    ranks: int
    """ranks or pseudo-channels of a channel."""
    rank_banks: int
    """banks of one of them."""
    data_buses: int
    """data buses of a channel: one for each pseudo-channel."""
    group_mask: int
    """bits of a bank's number that name its bank group among those of all ranks."""
    group_banks: NDArray[np.int64]
    """[64]: banks of a bank group, by its number."""
    rank_shift: int
    """log2 of the banks of a rank."""
    rank_bits: int
    """log2 of ranks, without pseudo-channels."""
    pseudo_bits: int
    """log2 of pseudo-channels."""
    group_bits: int
    """log2 of bank groups."""
    group_shift: int
    """log2 of successive lines in one bank group."""
    column_bits: int
    """log2 of lines in a row."""
    bursts: int
    """bursts of a line."""
    burst_bytes: int
    """bytes of a burst."""
    record_address: int
    """buffer for issued commands, 0: none."""
    record_capacity: int
    """commands it holds."""
    record_count: int
    """commands issued since recording began."""
    until: int
    """cycle after that in which the last access so far was accepted, 0: none was."""
    span_cycles: int
    """from the first read or write accepted to the last one, both included [cycles]."""
    channel: RecordArray[DramChannelRecord]
    """[32]: the channels."""

class CuWaveRecord(Record):
    """m.cu.wave"""

    ready_at: int
    """cycle from which its granule is in the instruction buffer, NEVER: unknown."""
    mark: int
    """cycle up to which its time is accounted for."""
    snapshot: int
    """cycles_short of what its next instruction takes, when it began to want it."""
    pc: int
    """static index of the next instruction."""
    stop: int
    """static index up to which it goes on without a look at segment or granule."""
    memory_word: int
    """next memory word of the slice."""
    vm_head: int
    """oldest vector memory instruction in flight (a running number)."""
    vm_tail: int
    """one past the youngest; tail - head = vmcnt."""
    lgkm: int
    """LDS, scalar and flat accesses in flight: lgkmcnt."""
    state: int
    """FREE ... FETCHING."""
    rank: int
    """age among the SIMD's wavefronts, 0 the oldest."""
    generation: int
    """counts the slot's wavefronts, so that late answers are told apart."""
    pause_reason: int
    """stall reason of the pause."""
    workgroup: int
    """workgroup slot on the CU."""
    vm_left: NDArray[np.int16]
    """[64]: answers that an instruction in flight still waits for | FLAT_ENTRY."""
    vm_pc: NDArray[np.int32]
    """[64]: static index of an instruction in flight."""
    resume: int
    """cycle in which a paused wavefront goes on."""
    scalar_result: int
    """cycle in which it last issued a vector instruction marked SCALAR_RESULT."""
    waited_since: int
    """cycle up to which its wait is charged to the instructions it waits for."""
    segment_end: int
    """static index one past the segment."""
    segment: int
    """segment of the slice it is in, NOT_OPEN: its first one is not open."""
    trace_offset: int
    """bytes from the first trace buffer to that with the slice it is in."""
    granule: int
    """granule that its next instruction ends in."""
    next_granule: int
    """granule to be fetched next."""
    arrives: NDArray[np.int64]
    """[8]: cycles in which fetched granules are in the buffer, by granule."""

class CuSimdRecord(Record):
    """m.cu.simd"""

    want: NDArray[np.int16]
    """[8]: by rank: wavefronts whose next instruction is of the unit."""
    last: NDArray[np.int16]
    """[8]: rank after the one that last issued to the unit."""
    order: int
    """slot (0-9) of each rank, ORDER_BITS each."""
    next_resume: int
    """a cycle not after the first in which a paused one goes on, NEVER: there is none."""
    valu_free: int
    """cycle in which the vector ALU is free."""
    wanted: int
    """by unit: 1 if a wavefront wants it."""
    paused: int
    """by rank: wavefronts with a resume cycle."""
    resident: int
    """resident wavefronts."""
    free: int
    """mask of free slots (0-9)."""

class CuLdsRecord(Record):
    """m.cu.lds"""

    until: int
    """cycle after the last bank access so far, 0: there was none."""
    bytes_asked_for: int
    """bytes that active lanes read, write or change in the LDS [bytes]."""
    span_cycles: int
    """from the first bank cycle of any LDS to the last one, both included [cycles]."""

class CuRecord(Record):
    """m.cu"""

    cus: int
    """compute units."""
    policy: int
    """which wavefront issues: a number of SCHEDULES."""
    by_age: int
    """1: the oldest; the policy says so, and the kernel sets no priorities."""
    branch_cycles: int
    """cycles from a branch to the wavefront's next issue."""
    lds_latency: int
    """cycles from the last bank access to data."""
    vm_limit: int
    """vector memory instructions of a wavefront in flight at most: what vmcnt can count."""
    lds_write_passes: int
    """bank cycles of a write or atomic for one of a read."""
    lds_backlog: int
    """bank cycles queued from which the LDS takes no more."""
    launch_cycles: int
    """cycles from dispatch to first issue."""
    buffer_granules: int
    """granules of an instruction buffer."""
    fetch_granules: int
    """granules that one fetch brings at most."""
    wave: RecordArray[CuWaveRecord]
    """[8192]: wavefront slots."""
    started: NDArray[np.int64]
    """[8192]: cycle of dispatch, by wavefront slot."""
    priority: NDArray[np.int64]
    """[8192]: priority, 0 to 3, 3 goes first; by wavefront slot."""
    grid_at: NDArray[np.int64]
    """[8192]: resource of the grid's barrier that it waits at, plus 1; 0: none; by wavefront slot."""
    grid_arrived: NDArray[np.int64]
    """[64]: wavefronts that wait there, by resource."""
    fetch: NDArray[np.int64]
    """[128, 4]: a CU's wavefronts that fetch, by WANT ... NEXT_SLOT."""
    fetching_cus: NDArray[np.int64]
    """[64]: mask of the array's CUs that want to fetch."""
    array: NDArray[np.int64]
    """[128]: shader array of the CU."""
    bit_in_array: NDArray[np.int64]
    """[128]: bit of the CU in masks of its array."""
    simd: RecordArray[CuSimdRecord]
    """[512]: SIMDs."""
    matrix_free: NDArray[np.int64]
    """[512]: cycle in which the SIMD's matrix unit is free."""
    served: NDArray[np.int64]
    """[128, 8]: SIMD that last issued to the unit."""
    lds_free: NDArray[np.int64]
    """[128]: cycle in which the LDS banks are free."""
    lds_at: NDArray[np.int64]
    """[128, 1024]: cycle in which an LDS result is there."""
    lds_who: NDArray[np.int64]
    """[128, 1024]: slot | generation << 8 | vector memory token + 1 << 16 (FLAT in LDS) | instruction << 40."""
    lds_head: NDArray[np.int64]
    """[128]: oldest LDS access."""
    lds_count: NDArray[np.int64]
    """[128]: LDS accesses in flight."""
    lds: CuLdsRecord
    """what all of them were used for."""
    wg_used: NDArray[np.int64]
    """[128, 40]: 1: the workgroup slot is taken."""
    wg_size: NDArray[np.int64]
    """[128, 40]: its wavefronts."""
    wg_left: NDArray[np.int64]
    """[128, 40]: of these, not yet ended."""
    wg_arrived: NDArray[np.int64]
    """[128, 40]: of these, at the barrier."""
    wg_slot: NDArray[np.int64]
    """[128, 40, 16]: their slots on the CU."""
    wg_resident: NDArray[np.int64]
    """[128]: resident workgroups."""
    active_since: NDArray[np.int64]
    """[128]: cycle from which a workgroup is resident."""
    issued: NDArray[np.int64]
    """[8]: those that are vector ALU, without matrix products [instructions]; those that are matrix products
    [instructions]; those that are scalar ALU [instructions]; those that are vector memory (FLAT and MUBUF)
    [instructions]; those that are LDS (DS) [instructions]; those that are scalar memory [instructions]; those that are
    branch [instructions]; those that are other (s_waitcnt, s_barrier, s_nop, messages, end of program)
    [instructions]."""
    stalls: NDArray[np.int64]
    """[128, 10]: cycles of resident wavefronts in which it issued an instruction [wavefront-cycles]; cycles of resident
    wavefronts in which it could have issued, another wavefront was chosen [wavefront-cycles]; cycles of resident
    wavefronts in which its pipeline was busy or a result was not ready [wavefront-cycles]; cycles of resident
    wavefronts in which its matrix product found the matrix unit busy [wavefront-cycles]; cycles of resident wavefronts
    in which it waited at s_waitcnt for memory or LDS [wavefront-cycles]; cycles of resident wavefronts in which its
    memory instruction found a queue full [wavefront-cycles]; cycles of resident wavefronts in which it waited at a
    barrier [wavefront-cycles]; cycles of resident wavefronts in which its next instruction was not there yet
    [wavefront-cycles]; cycles of resident wavefronts in which its branch was taken and it had not gone to the target
    yet [wavefront-cycles]; cycles of resident wavefronts in which none of the others, ended but not yet released
    included [wavefront-cycles]."""
    issue_cycles: int
    """cycles in which a CU issued at least one instruction, summed over CUs [cycles]."""
    active_cycles: int
    """cycles in which a CU had a resident workgroup, summed over CUs [cycles]."""
    resident_cycles: int
    """cycles from dispatch to end, summed over the wavefronts that ended; in a whole run the sum of all stalls
    [wavefront-cycles]."""
    valu_busy: int
    """cycles vector ALUs were occupied, summed over SIMDs [cycles]."""
    matrix_busy: int
    """cycles matrix units were occupied, summed over SIMDs [cycles]."""
    lds_busy: int
    """LDS bank cycles, summed over CUs [cycles]."""

class RunRecord(Record):
    """m.run"""

    code: int
    """address of the code table."""
    granules_of: int
    """address of the instructions' granules."""
    granule_ends: int
    """address of the granules' ends, as static indices."""
    granules: int
    """granules of the code."""
    line_granule_bits: int
    """log2 of the granules of a line."""
    code_line: int
    """line of granule 0."""
    begins: int
    """static index + 1 at which all wavefronts begin, 0: not all do, or no slice is made ahead."""
    trace_base: int
    """address of slot 0's trace buffer."""
    producer: int
    """address of the producer's context."""
    start: int
    """address of its start function."""
    produce: int
    """address of its produce function."""
    workgroups: int
    """workgroups of the grid that are simulated."""
    next_workgroup: int
    """workgroups dispatched so far."""
    skipped: int
    """workgroups of the grid passed over so far, which `workgroups` does not count."""
    workgroup_waves: int
    """wavefronts of a workgroup."""
    waves_per_simd: int
    """wavefronts of this kernel that a SIMD can hold."""
    workgroups_per_cu: int
    """workgroups of this kernel that a CU can hold."""
    engines: int
    """shader engines that have CUs."""
    launch_interval: int
    """cycles a shader engine needs to launch a wavefront."""
    engine_free: NDArray[np.int64]
    """[128]: by shader engine: cycle from which it may launch the next workgroup."""
    engine_cus: NDArray[np.int64]
    """[128, 2]: by shader engine: mask of its CUs, by position, 64 a word."""
    engine_of: NDArray[np.int64]
    """[128]: by CU: its shader engine."""
    dispatch_order: int
    """which CU gets the next workgroup: a number of ORDERS."""
    cu_order: NDArray[np.int64]
    """[128]: CUs by position: engines take turns, and within an engine its arrays."""
    position: NDArray[np.int64]
    """[128]: by CU: its position."""
    cu_next: int
    """round-robin pointer: the position after that of the CU that got the last workgroup."""
    may_have_space: NDArray[np.int64]
    """[2]: mask of the CUs not known to be full, by position."""
    able: NDArray[np.int64]
    """[2]: mask of those of them whose engine may launch now, by position."""
    waves_left: int
    """wavefronts resident."""
    done: int
    """workgroups that ended [workgroups]."""
    waves_done: int
    """wavefronts that ended [wavefronts]."""
    instructions: int
    """instructions issued, one for a whole wavefront [instructions]."""
    single_flops: int
    """floating-point operations of 32 bits that active lanes executed: additions and multiplications, fused ones as
    two; no comparisons, conversions, reciprocals, transcendental functions, atomics [operations]."""
    double_flops: int
    """floating-point operations of 64 bits that active lanes executed: additions and multiplications, fused ones as
    two; no comparisons, conversions, reciprocals, transcendental functions, atomics [operations]."""
    half_flops: int
    """floating-point operations of 16 bits that active lanes executed: additions and multiplications, fused ones as
    two; no comparisons, conversions, reciprocals, transcendental functions, atomics [operations]."""
    matrix_flops: int
    """floating-point operations of matrix products: a multiplication and an addition for each product of two elements
    [operations]."""
    ended: int
    """cycle in which all was done but fetches that nobody needs any more, 0: not yet."""
    fault: int
    """negative code of a functional fault, 0 if none."""
    hotspots: int
    """address of the cycles by static instruction and stall reason; 0: not wanted, nor a timeline."""
    every_cycle: int
    """1: run every unit in every cycle (to check that skipping changes nothing)."""
    engine_on: int
    """1: the compaction engine is part of the machine."""

class Machine(Record):
    """The machine record: the state of every unit."""

    wheel: WheelRecord
    timeline: TimelineRecord
    map: MapRecord
    waiting: WaitingRecord
    parts: PartsRecord
    ports: PortsRecord
    xbar: XbarRecord
    sides: SidesRecord
    slices: SlicesRecord
    access: AccessRecord
    translation: TranslationRecord
    l1: L1Record
    scalar: ScalarRecord
    icache: IcacheRecord
    l2: L2Record
    engine: EngineRecord
    dram: DramRecord
    cu: CuRecord
    run: RunRecord
