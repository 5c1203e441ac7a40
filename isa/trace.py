"""The functional trace: what execution tells the timing model about a wavefront.

A *producer* runs a wavefront in slices and writes each slice into the wavefront slot's trace buffer; the
timing model replays the slice and asks for the next when it is used up, so memory stays bounded by resident
wavefronts. A slice ends after `s_barrier`, `ds_gws_barrier`, `s_endpgm`, or when a buffer limit is near.

A producer is two functions of four int64 (called by `gpusim.base.jit.call_i64_4`):

    start(context, slot, workgroup, wave | workgroup_slot << 32)   lay out the wavefront's initial state
    produce(context, slot, offset, 0) -> MORE | BARRIER | END | GRID_BARRIER | negative fault code

offset: bytes from the slot's first trace buffer to the one that is written. A slot has two where a slice is made while
the one before is replayed; else it is 0.

Functional execution is one producer; replaying a stored trace is another. After GRID_BARRIER a wavefront's next slice
is asked for once all have arrived that it waits for; before that, it is an empty one, and GRID_BARRIER again.

Buffer of a slot: TRACE_WORDS int64 words.

    word SEGMENTS       number of segments in this slice
    word MEMORY_WORDS   number of memory words in this slice
    word INSTRUCTIONS   instructions in this slice
    word STATUS         MORE, BARRIER, END or GRID_BARRIER (what `produce` returned)
    word FLOPS          floating-point operations of the slice's active lanes: single | double << 21 | half << 42
    word WAITERS        GRID_BARRIER: wavefronts that wait for one another, this one included | resource << 32
    SEGMENT_0 ...       one word a segment: first static instruction index | one past the last << 32
    MEMORY_0 ...        memory records in program order

A segment is a run of instructions executed one after another; a new one starts after a taken branch.
Each VMEM, FLAT, SMEM and DS instruction has exactly one memory record: a header word, then its lines.

    header   bits 0-11 number of lines | bits 12-23 busy cycles | flags | bits 32-39 least cycles (LDS)
             | bits 40-51 bytes asked for (vector memory, LDS)
             busy cycles: on the address and data path (vector memory), bank cycles (LDS), 0 (scalar)
             least cycles: bank cycles that the access would take if its lanes never met in a bank
             bytes asked for: by all active lanes, whichever lines they lie in
    loads    one word a line:  byte address >> 6 | LINE_SPARSE
    stores and atomics  two words a line: as above, then the 64-bit mask of the bytes touched; an atomic's line comes as
             often as lanes change the same dword of it, for each of which a packet has one operand
"""

from typing import Any

SEGMENTS, MEMORY_WORDS, INSTRUCTIONS, STATUS, FLOPS, WAITERS = 0, 1, 2, 3, 4, 5
SEGMENT_0 = 8
MAX_SEGMENTS = 504
MEMORY_0 = SEGMENT_0 + MAX_SEGMENTS
MAX_MEMORY_WORDS = 3584
TRACE_WORDS = MEMORY_0 + MAX_MEMORY_WORDS + 8  # off the powers of two: slots must not share the sets of host caches
MAX_SLICE_INSTRUCTIONS = 2048
MAX_LINES = 128  # 64 lanes, each at most two lines
MAX_RECORD_WORDS = 1 + 2 * MAX_LINES
MAX_IMAGE_LINES = 512  # of a sample: 64 lanes, each up to eight texels
MAX_IMAGE_WORDS = 1 + MAX_IMAGE_LINES

MORE, BARRIER, END, GRID_BARRIER = 0, 1, 2, 3
GRID_RESOURCES = 64  # of the global data share, at which wavefronts of several workgroups wait

LINES_MASK = 0xFFF
BUSY_SHIFT = 12
BUSY_MASK = 0xFFF
RECORD_STORE = 1 << 24
RECORD_ATOMIC = 1 << 25
RECORD_RETURN = 1 << 26  # atomic that returns the old value
RECORD_LDS = 1 << 27  # DS instruction, or a FLAT access in the LDS aperture
RECORD_SCALAR = 1 << 28
LEAST_SHIFT = 32
LEAST_MASK = 0xFF
ASKED_SHIFT = 40
ASKED_MASK = 0xFFF

FLOPS_BITS = 21  # of each precision
FLOPS_MASK = (1 << FLOPS_BITS) - 1
MAX_LANE_FLOPS = 8  # that an instruction may have
assert MAX_LANE_FLOPS * 64 * MAX_SLICE_INSTRUCTIONS <= FLOPS_MASK

LINE_BITS = 31  # 128 GiB; with the mark a line number is a 32-bit word, and so are the tags of caches
LINE_SPARSE = 1 << LINE_BITS  # part of the line's identity from the coalescer to the compaction engine
LINE_ADDRESS_MASK = LINE_SPARSE - 1
LINE_BYTES = 64


def taken_records(trace: Any) -> list[tuple[int, list[int]]]:
    """Return header and line addresses (in lines) of a slice's memory instructions in program order, and empty it.

    trace: int64 [TRACE_WORDS], as it is shown after each slice; a run's last slice is shown twice.
    """
    words = trace[MEMORY_0 : MEMORY_0 + int(trace[MEMORY_WORDS])].tolist()
    trace[MEMORY_WORDS] = 0
    records, at = [], 0
    while at < len(words):
        header = words[at]
        step = 2 if header & (RECORD_STORE | RECORD_ATOMIC) else 1
        end = at + 1 + step * (header & LINES_MASK)
        records.append((header, [word & LINE_ADDRESS_MASK for word in words[at + 1 : end : step]]))
        at = end
    return records
