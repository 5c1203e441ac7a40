"""Is a functional context a producer as isa.trace says, and several at once independent?"""

import ctypes
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from gpusim.base.jit.functions import python_callback
from isa import trace as tr
from isa.execution.emulator import run_functional
from isa.execution.executor import FunctionalContext
from isa.opcodes.opcode import LDS, SMEM, VMEM
from tests.support.compiled import compiled_versions
from tests.support.daily import given_daily
from tests.support.functional import Device, kernel

_ABI = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)


def call(address, *arguments):
    return int(python_callback(address)(*arguments) if JIT_DISABLED else _ABI(address)(*arguments))


def slot_trace(context, slot):
    return context.slices[slot]


def segments(words):
    return [(int(s) & 0xFFFFFFFF, int(s) >> 32) for s in words[tr.SEGMENT_0 : tr.SEGMENT_0 + words[tr.SEGMENTS]]]


def records(words):
    """(header, lines, masks) of each memory record of a slice."""
    out, at = [], 0
    while at < words[tr.MEMORY_WORDS]:
        header = int(words[tr.MEMORY_0 + at])
        lines = header & tr.LINES_MASK
        step = 2 if header & (tr.RECORD_STORE | tr.RECORD_ATOMIC) else 1
        body = words[tr.MEMORY_0 + at + 1 : tr.MEMORY_0 + at + 1 + step * lines]
        out.append((header, body[::step].tolist(), body[1::step].tolist() if step == 2 else []))
        at += 1 + step * lines
    assert at == words[tr.MEMORY_WORDS]
    return out


def add_device(n, scale):
    device = Device()
    device.put("a", np.arange(n, dtype=np.float32) * scale), device.put("b", np.ones(n, np.float32))
    device.put("c", np.zeros(n, np.float32))
    return device, device.launch(kernel("vector_add", "vector_add"), n, 64, "a", "b", "c", n)


def test_two_contexts_run_interleaved():
    pairs = [add_device(256, scale) for scale in (1, 5)]
    contexts = [FunctionalContext(launch, 8, 8) for _, launch in pairs]
    for group in range(4):
        for context in contexts:
            call(context.start_address, context.address, 7 - group, group, 0 | group << 32)
    for group in range(4):
        for context in contexts:
            assert call(context.produce_address, context.address, 7 - group, 0, 0) == tr.END
    for (device, _), scale in zip(pairs, (1, 5), strict=True):
        np.testing.assert_array_equal(device.get("c"), np.arange(256, dtype=np.float32) * scale + 1)


@pytest.mark.parametrize(
    "size, grid", [((100, 1, 1), (250, 1, 1)), ((7, 5, 3), (20, 9, 8)), ((16, 4, 2), (64, 64, 64))]
)
def test_work_items_are_numbered_row_by_row(size, grid):
    _, launch = add_device(256, 1)
    context = FunctionalContext(launch, 1, 1)
    state = context.state.launch
    state.group_size[:], state.grid[:], state.work_item_ids = size, grid, 3
    state.groups[:] = groups = [-(-items // of_group) for items, of_group in zip(grid, size, strict=True)]
    last = groups[0] * groups[1] * groups[2] - 1  # in which the grid's edge cuts workgroups in each dimension
    for group, cut in (0, size), (last, [items - (n - 1) * g for items, n, g in zip(grid, groups, size, strict=True)]):
        z, y, x = (part.ravel() for part in np.mgrid[: cut[2], : cut[1], : cut[0]])
        for wavefront in range(-(-len(x) // 64)):
            call(context.start_address, context.address, 0, group, wavefront)
            first = context.wavefronts[0].vectors
            rows = np.ctypeslib.as_array((ctypes.c_uint32 * 192).from_address(first)).reshape(3, 64)
            wanted = np.zeros((3, 64), np.uint32)
            for row, ids in zip(wanted, (x, y, z), strict=True):
                ids = ids[64 * wavefront : 64 * wavefront + 64]
                row[: len(ids)] = ids
            np.testing.assert_array_equal(rows, wanted)


def test_the_trace_of_a_partial_vector_add():
    device, launch = add_device(100, 2)
    context = FunctionalContext(launch, 2, 2)
    call(context.start_address, context.address, 1, 1, 0)
    assert call(context.produce_address, context.address, 1, 0, 0) == tr.END
    words = slot_trace(context, 1)
    runs = segments(words)
    assert words[tr.INSTRUCTIONS] == sum(last - first for first, last in runs) == context.executed_instructions
    assert words[tr.STATUS] == tr.END
    executed = [i for first, last in runs for i in range(first, last)]
    assert context.instructions[executed[-1]].opcode.mnemonic == "s_endpgm"
    with_record = [i for i in executed if context.instructions[i].opcode.unit in (VMEM, SMEM, LDS)]
    memory = records(words)
    assert len(memory) == len(with_record)
    vector = [r for r in memory if not r[0] & tr.RECORD_SCALAR]
    # 36 active lanes from element 64 on: 144 bytes from a line's start
    for (header, lines, masks), name in zip(vector, "abc", strict=True):
        first = device.buffers[name][0].address // 64 + 4
        assert lines == [first, first + 1, first + 2]
        assert header >> tr.BUSY_SHIFT & tr.BUSY_MASK == (9 if name == "c" else 3)  # stores: a quad a cycle
        if name == "c":
            assert header & tr.RECORD_STORE and [m & (1 << 64) - 1 for m in masks] == [(1 << 64) - 1] * 2 + [0xFFFF]


def test_a_wavefront_without_work_items_ends_at_once():
    device, _ = add_device(64, 1)
    launch = device.launch(kernel("vector_add", "vector_add"), 64, 128, "a", "b", "c", 64)
    context = FunctionalContext(launch, 2, 1)
    call(context.start_address, context.address, 1, 0, 1)
    assert call(context.produce_address, context.address, 1, 0, 0) == tr.END
    assert slot_trace(context, 1)[tr.INSTRUCTIONS] == 1


def test_slices_end_at_barriers_and_before_a_buffer_is_full():
    device = Device()
    values = np.arange(1, 65, dtype=np.uint32) * 97
    device.put("in", values), device.put("out", np.zeros(64, np.uint32))
    context = FunctionalContext(device.launch(kernel("divergent", "collatz"), 64, 64, "in", "out", 400), 1, 1)
    call(context.start_address, context.address, 0, 0, 0)
    slices, status = [], tr.MORE
    while status == tr.MORE:
        status = call(context.produce_address, context.address, 0, 0, 0)
        words = slot_trace(context, 0)
        assert words[tr.SEGMENTS] <= tr.MAX_SEGMENTS and words[tr.MEMORY_WORDS] <= tr.MAX_MEMORY_WORDS
        assert 0 < words[tr.INSTRUCTIONS] <= tr.MAX_SLICE_INSTRUCTIONS
        slices.append(segments(words))
    assert len(slices) > 1 and status == tr.END
    for before, after in pairwise(slices):
        last = context.instructions[before[-1][1] - 1]
        assert after[0][0] == before[-1][1] or last.opcode.mnemonic.startswith("s_")

    device.put("sums", np.zeros(1, np.int32)), device.put("total", np.zeros(1, np.int32))
    device.put("big", np.ones(256, np.int32))
    launch = device.launch(kernel("reduction", "reduce_sum"), 256, 256, "big", "sums", "total")
    context = FunctionalContext(launch, 4, 1)
    for wave in range(4):
        call(context.start_address, context.address, wave, 0, wave)
    assert call(context.produce_address, context.address, 2, 0, 0) == tr.BARRIER
    _, last = segments(slot_trace(context, 2))[-1]
    assert context.instructions[last - 1].opcode.mnemonic == "s_barrier"


@given_daily(25, 100, st.lists(st.integers(0, 3), max_size=40))
def test_each_wavefront_under_way_has_registers_of_its_own_those_freed_last_first(slots):
    """A slot that is named starts its wavefront, or runs it to its end if it is under way."""
    _, launch = add_device(64, 1)
    context = FunctionalContext(launch, 4, 4)
    free = [3, 2, 1, 0]
    held = {}
    for slot in slots:
        if slot in held:
            assert call(context.produce_address, context.address, slot, 0, 0) == tr.END
            free.append(held.pop(slot))
        else:
            call(context.start_address, context.address, slot, 0, slot << 32)
            held[slot] = free.pop()
        for other, file in held.items():
            assert context.wavefronts[other].register_file == file + 1
    start = [context.wavefronts[slot].vectors - file * context.state.vectors_stride for slot, file in held.items()]
    assert len(set(start)) <= 1


def test_another_kernel_compiles_nothing():
    _, launch = add_device(64, 1)
    run_functional(launch)
    versions = compiled_versions("isa")
    device = Device()
    device.put("out", np.zeros(64, np.uint32))
    device.run(kernel("geometry", "calls"), 64, 64, "out")
    assert compiled_versions("isa") == versions
