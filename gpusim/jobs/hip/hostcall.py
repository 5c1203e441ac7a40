"""Calls from kernels to the host: what `printf`, `assert`, `malloc` and `free` in device code become.

A wavefront that calls takes a packet from a stack of free ones, writes its lanes' words into it, pushes it onto the
stack of ready ones and waits until the host has cleared the packet's flag (AMD's device library since ROCm 4: ockl,
hostcall_impl.cl; ROCclr: devhostcall.cpp, devhcmessages.cpp). The words of a lane are pieces of a message: a flag for
its stream, a format as in C, arguments of eight bytes each, strings as they are. For `malloc` they are 0 and a size,
for `free` an address: the device library keeps heaps of its own in blocks of 2 MiB (dm.cl) and asks the host for these,
and for what is larger than 3 KiB.
"""

import struct
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from gpusim.base.formats import COUNT
from gpusim.base.visible import raw
from gpusim.jobs.hip.formatting import formatted
from isa.device_memory import Allocation, DeviceMemory, DeviceMemoryError
from isa.launch import Launch

ARGUMENT, HEAP = "hidden_hostcall_buffer", "hidden_heap_v1"
_PACKETS = 4096  # more than wavefronts that any GPU holds: none ever waits for a free one
_INDEX_MASK = _PACKETS - 1  # of a pointer; its other bits are a tag
_LANES, _WORDS = 64, 8
_BUFFER, _SIGNAL, _HEADER = "<QQQQQQ", "<qqQ", "<QQII"  # buffer_t, amd_signal_t's beginning, header_t
_SIGNAL_AT, _HEADERS_AT = 64, 128
_FREE_AT, _READY_AT = 24, 32  # the stacks' tops in the buffer
_HEADER_BYTES = struct.calcsize(_HEADER)
_CONTROL_AT = _HEADER_BYTES - 4
_PAYLOAD_BYTES = _LANES * _WORDS * 8
_USER_SIGNAL = 1
_PAGE_BYTES = 4096
_PRINTF, _MEMORY = 2, 3  # services
_HEAP_BYTES = 128 << 10  # of the device library's heap_t, of zeros at first (ROCclr: Device::createHeap)
_BLOCK_BYTES = 2 << 20  # of a heap, at a multiple of its size: that is how the library finds a block's head
# a lane's first word: bits 0 and 1 begin and end a message, 5 to 7 the words that follow, from 8 on its number
_BEGIN, _END, _LENGTH_SHIFT, _LENGTH_MASK, _NUMBER_SHIFT = 1, 2, 5, 7, 8
_TO_STDERR = 1


class HostCalls:
    """The buffer of one process's calls in its device memory, created when a kernel has an argument for it."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self._view: Any = None  # the buffer's bytes
        self._address = 0
        self._messages: dict[int, bytearray] = {}
        self._last = 0
        self.printed = bytearray()  # for the program's standard output
        self._heap: Allocation | None = None
        self._given: dict[int, Allocation] = {}  # by the addresses that kernels have

    @staticmethod
    def is_used_by(launch: Launch) -> bool:
        """Tell whether the kernel can call the host."""
        return any(argument.kind == ARGUMENT for argument in launch.kernel.arguments)

    def with_buffer(self, launch: Launch) -> Launch:
        """Return the launch with the addresses of buffer and heap in its arguments, if the kernel has some for them."""
        wanted = [argument for argument in launch.kernel.arguments if argument.kind in (ARGUMENT, HEAP)]
        if not wanted:
            return launch
        block = bytearray(launch.kernarg.ljust(launch.kernel.kernarg_bytes, b"\0"))
        for argument in wanted:
            address = self._buffer() if argument.kind == ARGUMENT else self._heap_address()
            block[argument.offset : argument.offset + 8] = address.to_bytes(8, "little")
        return replace(launch, kernarg=bytes(block))

    def serve(self) -> None:
        """Carry out the calls that wavefronts have made."""
        packet = self._word(_READY_AT)
        self._set_word(_READY_AT, 0)
        packets = []
        while packet:  # the one pushed last comes first
            packets.append(packet)
            packet = self._word(self._header_at(packet))
        for packet in reversed(packets):
            at = self._header_at(packet)
            _, active, service, control = struct.unpack_from(_HEADER, self._view, at)
            self._call(packet & _INDEX_MASK, active, service)
            struct.pack_into("<I", self._view, at + _CONTROL_AT, control & ~1)

    def _call(self, number: int, active: int, service: int) -> None:
        """Serve the lanes of a packet in order."""
        start = self._payloads_at + number * _PAYLOAD_BYTES
        words = self._view[start : start + _PAYLOAD_BYTES].view(np.uint64).reshape(_LANES, _WORDS)
        for lane in range(_LANES):
            if active >> lane & 1:
                words[lane, 0] = self._answer(words[lane], service)

    def _answer(self, words: np.ndarray, service: int) -> int:
        """Serve a lane; a service that is not there answers with all ones."""
        if service == _PRINTF:
            return self._piece(words)
        return self._memory_of(int(words[0]), int(words[1])) if service == _MEMORY else (1 << 64) - 1

    def _memory_of(self, address: int, size: int) -> int:
        """Free memory that a kernel has got, or give it `size` bytes; returns their address, 0 where there are none."""
        if address:
            given = self._given.pop(address, None)
            if given is not None:
                self._memory.free(given)
            return 0
        align = _BLOCK_BYTES if size == _BLOCK_BYTES else 1
        whole = -(-size // _PAGE_BYTES) * _PAGE_BYTES  # launches under way know no ends of new allocations but lines'
        try:
            allocation = self._memory.allocate(whole + align - 1, f"malloc of {COUNT(size)} bytes in a kernel")
        except DeviceMemoryError:
            return 0
        found = -(-allocation.address // align) * align
        self._given[found] = allocation
        return found

    def _heap_address(self) -> int:
        if self._heap is None:
            self._heap = self._memory.allocate(_HEAP_BYTES, "heap of kernels")
        return self._heap.address

    def _piece(self, words: np.ndarray) -> int:
        """Take a piece of a message, and return the lane's answer: the message's number, or at its end what printf
        returns.
        """
        head = int(words[0])
        number = head >> _NUMBER_SHIFT
        if head & _BEGIN:
            self._last += 1
            number = self._last
            self._messages[number] = bytearray()
        message = self._messages.setdefault(number, bytearray())
        message += words[1 : 1 + (head >> _LENGTH_SHIFT & _LENGTH_MASK)].tobytes()
        if not head & _END:
            return number << _NUMBER_SHIFT  # the next piece begins no message
        text = formatted(bytes(self._messages.pop(number))[8:])
        if message[0] & _TO_STDERR:
            raw(sys.stderr).write(text.decode("utf-8", "replace"))  # the program's own, as it is
            sys.stderr.flush()
        else:
            self.printed += text
        return len(text)

    def _buffer(self) -> int:
        """Return the address of the buffer, which is created at the first call."""
        if self._view is None:
            size = self._payloads_at + _PACKETS * _PAYLOAD_BYTES
            allocation = self._memory.allocate(size, "calls from kernels to the host")
            self._address, self._view = allocation.address, self._memory.view(allocation)
            pointers = np.arange(_PACKETS, 2 * _PACKETS, dtype=np.uint64)  # tagged: the first is no null pointer
            headers = self._view[_HEADERS_AT : _HEADERS_AT + _PACKETS * _HEADER_BYTES].view(np.uint64).reshape(-1, 3)
            headers[1:, 0] = pointers[:-1]
            signal = self._address + _SIGNAL_AT
            struct.pack_into(_SIGNAL, self._view, _SIGNAL_AT, _USER_SIGNAL, 0, 0)
            top = int(pointers[-1])
            places = (self._address + _HEADERS_AT, self._address + self._payloads_at, signal)
            struct.pack_into(_BUFFER, self._view, 0, *places, top, 0, _INDEX_MASK)
        return self._address

    @property
    def _payloads_at(self) -> int:
        return -(-(_HEADERS_AT + _PACKETS * _HEADER_BYTES) // _PAYLOAD_BYTES) * _PAYLOAD_BYTES

    def _header_at(self, pointer: int) -> int:
        return _HEADERS_AT + (pointer & _INDEX_MASK) * _HEADER_BYTES

    def _word(self, at: int) -> int:
        return int.from_bytes(self._view[at : at + 8], "little")

    def _set_word(self, at: int, value: int) -> None:
        struct.pack_into("<Q", self._view, at, value)
