"""Moving data between register rows and host memory, lane by lane, and the atomic operations.

`host` is added to a lane's address in the work area to give a host address; `row` is a row of registers.
"""

import ctypes
import struct
from typing import Any

import numpy as np

from gpusim.base.jit import jit, ld_i16, ld_i32, ld_i64, ld_u8, ld_u16, ld_u32, primitive, st_i16, st_i32, st_i64, st_u8
from isa.architecture import LANES, ROW_BYTES
from isa.execution.codes import CLEARS_HALF, SIGNED, UPPER_HALF, AtomicOperation
from isa.execution.state import Work

_SIGN = -(1 << 63)


_operation = primitive("isa.execution.data_movement_llvm")


@_operation
def single(bits: int) -> float:
    """Return the FP32 number with the lower 32 bits of `bits`, as FP64."""
    return float(struct.unpack("<f", (int(bits) & 0xFFFF_FFFF).to_bytes(4, "little"))[0])


@_operation
def double(bits: int) -> float:
    """Return the FP64 number with these bits."""
    return float(struct.unpack("<d", (int(bits) & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little"))[0])


@_operation
def single_bits(value: float) -> int:
    """Return the bits of the FP32 number closest to an FP64 one."""
    return int(np.array([value], np.float64).astype(np.float32).view(np.uint32)[0])


@_operation
def single_sum(a: int, b: int) -> int:
    """Return the bits of the FP32 sum of two FP32 bit patterns."""
    x, y = (np.array([v & 0xFFFF_FFFF], np.uint32).view(np.float32) for v in (a, b))
    return int((x + y).view(np.uint32)[0])


@_operation
def double_sum(a: int, b: int) -> int:
    """Return the bits of the FP64 sum of two FP64 bit patterns."""
    x, y = (np.array([v & 0xFFFF_FFFF_FFFF_FFFF], np.uint64).view(np.float64) for v in (a, b))
    return int((x + y).view(np.int64)[0])


@_operation
def half_pair_sum(a: int, b: int) -> int:
    """Return the bits of the sums of two pairs of FP16, side by side."""
    x, y = (np.array([v & 0xFFFF_FFFF], np.uint32).view(np.float16) for v in (a, b))
    with np.errstate(all="ignore"):
        return int((x + y).view(np.uint32)[0])


def _block(place: int, stride: int) -> list[Any]:
    return [(ctypes.c_uint32 * 4).from_address(int(place) + k * stride) for k in range(4)]


@_operation
def load_block(row: int, a: int, b: int, c: int, d: int) -> None:
    """Load four dwords from each of four addresses, those of a lane one below the other in four register rows.

    row: address of the first lane in the first row.
    """
    for lane, address in enumerate((a, b, c, d)):
        for dword, register in zip(_block(address, 0)[0], _block(row, ROW_BYTES), strict=True):
            register[lane] = dword


@_operation
def store_block(row: int, a: int, b: int, c: int, d: int) -> None:
    """Store what `load_block` loads, one lane after another."""
    for lane, address in enumerate((a, b, c, d)):
        for k, register in enumerate(_block(row, ROW_BYTES)):
            _block(address, 0)[0][k] = register[lane]


@jit
def brain_sum(a, b):
    """Return the bits of the sum of two BF16, to nearest even (assumed)."""
    total = single_sum((a & 0xFFFF) << 16, (b & 0xFFFF) << 16) & 0xFFFF_FFFF
    if total & 0x7FFF_FFFF > 0x7F80_0000:
        return total >> 16 | 0x40
    return (total + 0x7FFF + ((total >> 16) & 1)) >> 16


@jit
def float_value(bits, size):
    """Return the FP32 (size 4) or FP64 number with these bits, as FP64."""
    return single(bits) if size == 4 else double(bits)


@jit
def atomic_result(operation, size, old, data, data1):
    """Return the word that an atomic of `size` bytes leaves in memory.

    The arguments `old`, `data` and `data1` are zero-extended (size 4) or whole words (8). The compare-and-swap forms
    swap `data` in where memory equals `data1`.
    """
    if operation == AtomicOperation.ADD:
        return old + data
    if operation == AtomicOperation.SWAP:
        return data
    if operation == AtomicOperation.COMPARE_SWAP:
        return data if old == data1 else old
    if operation == AtomicOperation.SUB:
        return old - data
    if operation == AtomicOperation.REVERSE_SUB:
        return data - old
    if operation == AtomicOperation.AND:
        return old & data
    if operation == AtomicOperation.OR:
        return old | data
    if operation == AtomicOperation.XOR:
        return old ^ data
    if operation == AtomicOperation.MASKED_OR:
        return (old & ~data) | data1
    if operation >= AtomicOperation.FLOAT_COMPARE_SWAP:
        if operation == AtomicOperation.FLOAT_ADD:
            return single_sum(old, data) if size == 4 else double_sum(old, data)
        if operation == AtomicOperation.HALF_PAIR_ADD:
            return half_pair_sum(old, data)
        if operation == AtomicOperation.BRAIN_PAIR_ADD:
            return brain_sum(old, data) | brain_sum(old >> 16, data >> 16) << 16
        x = float_value(old, size)
        if operation == AtomicOperation.FLOAT_COMPARE_SWAP:
            return data if x == float_value(data1, size) else old
        y = float_value(data, size)
        if operation == AtomicOperation.FLOAT_MIN:
            return data if y < x else old
        return data if y > x else old
    below = (old ^ _SIGN) < (data ^ _SIGN)  # unsigned
    if operation == AtomicOperation.UNSIGNED_MIN:
        return old if below else data
    if operation == AtomicOperation.UNSIGNED_MAX:
        return data if below else old
    if operation == AtomicOperation.INCREMENT:
        return old + 1 if below else 0
    if operation == AtomicOperation.DECREMENT:
        return data if old == 0 or not (below or old == data) else old - 1
    if size == 4:
        signed_below = (old ^ 0x8000_0000) < (data ^ 0x8000_0000)
    else:
        signed_below = old < data
    if operation == AtomicOperation.SIGNED_MIN:
        return old if signed_below else data
    return data if signed_below else old


@jit
def atomic_at(host, registers, i, operation, size, data, data1, destination, returns):
    """Execute one lane's atomic on host address `host`.

    registers + `data`, `data1` or `destination` is the address of a row. returns: whether the lane gets the old value.
    """
    if size == 4:
        old = ld_u32(host, 0)
        new = atomic_result(operation, size, old, ld_u32(registers + data, i), ld_u32(registers + data1, i))
        st_i32(host, 0, new)
        if returns:
            st_i32(registers + destination, i, old)
    else:
        old = ld_i64(host, 0)
        a = ld_u32(registers + data, i) | (ld_i32(registers + data + ROW_BYTES, i) << 32)
        b = ld_u32(registers + data1, i) | (ld_i32(registers + data1 + ROW_BYTES, i) << 32)
        st_i64(host, 0, atomic_result(operation, size, old, a, b))
        if returns:
            st_i32(registers + destination, i, old)
            st_i32(registers + destination + ROW_BYTES, i, old >> 32)


@jit
def load_lane(host, row, i, size, signed):
    """Load `size` bytes at `host` into lane `i` of the register rows at `row`; signed: as of PROGRAM_ROW."""
    if size >= 4:
        for d in range(size >> 2):
            st_i32(row + d * ROW_BYTES, i, ld_u32(host, d))
    else:
        if size == 2:
            value = ld_i16(host, 0) if signed & SIGNED else ld_u16(host, 0)
        else:
            value = ld_u8(host, 0)
            if signed & SIGNED:
                value = (value ^ 128) - 128
        put_narrow(row, i, value, signed)


@jit
def put_narrow(row, i, value, signed):
    """Put a loaded value of one or two bytes into lane `i` of a register row; signed: as of PROGRAM_ROW."""
    if signed & CLEARS_HALF:
        st_i32(row, i, (value & 0xFFFF) << (16 if signed & UPPER_HALF else 0))
    elif signed > SIGNED:
        st_i16(row, 2 * i + (1 if signed & UPPER_HALF else 0), value)
    else:
        st_i32(row, i, value)


@jit
def store_lane(host, row, i, size):
    """Store `size` bytes of lane `i` of the register rows at `row` to `host`."""
    if size >= 4:
        for d in range(size >> 2):
            st_i32(host, d, ld_u32(row + d * ROW_BYTES, i))
    elif size == 2:
        st_i16(host, 0, ld_u32(row, i))
    else:
        st_u8(host, 0, ld_u32(row, i))


@jit
def copy_row(to, source):
    """Copy 256 bytes that do not overlap."""
    for i in range(ROW_BYTES // 8):
        st_i64(to, i, ld_i64(source, i))


@jit
def gather(work: Work, host, row, active, size, signed):
    """Load each active lane's `size` bytes from its address + `host` into the register rows at `row`."""
    if active == -1 and size == 4:
        for i in range(LANES):
            st_i32(row, i, ld_u32(host + work.address[i], 0))
    elif active == -1 and size == 16:
        at = work.address
        for i in range(0, LANES, 4):
            load_block(row + 4 * i, host + at[i], host + at[i + 1], host + at[i + 2], host + at[i + 3])
    elif active == -1 and size == 8:
        for i in range(LANES):
            a = host + work.address[i]
            st_i32(row, i, ld_u32(a, 0))
            st_i32(row, LANES + i, ld_u32(a, 1))
    else:
        for i in range(LANES):
            if (active >> i) & 1:
                load_lane(host + work.address[i], row, i, size, signed)


@jit
def scatter(work: Work, host, row, active, size):
    """Store each active lane's `size` bytes of the register rows at `row` to its address + `host`, in lane order."""
    if active == -1 and size == 4:
        for i in range(LANES):
            st_i32(host + work.address[i], 0, ld_u32(row, i))
    elif active == -1 and size == 8:
        for i in range(LANES):
            a = host + work.address[i]
            st_i32(a, 0, ld_u32(row, i))
            st_i32(a, 1, ld_u32(row, LANES + i))
    elif active == -1 and size == 16:
        at = work.address
        for i in range(0, LANES, 4):
            store_block(row + 4 * i, host + at[i], host + at[i + 1], host + at[i + 2], host + at[i + 3])
    else:
        for i in range(LANES):
            if (active >> i) & 1:
                store_lane(host + work.address[i], row, i, size)
