"""Calls from kernels to the host: what `printf` and `assert` in device code become.

A wavefront that calls takes a packet from a stack of free ones, writes its lanes' words into it, pushes it onto the
stack of ready ones and waits until the host has cleared the packet's flag (AMD's device library since ROCm 4: ockl,
hostcall_impl.cl; ROCclr: devhostcall.cpp, devhcmessages.cpp). The words of a lane are pieces of a message: a flag for
its stream, a format as in C, arguments of eight bytes each, strings as they are.
"""

import struct
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from gpusim.base.visible import raw
from gpusim.hip.formatting import formatted
from isa.device_memory import DeviceMemory
from isa.launch import Launch

ARGUMENT = "hidden_hostcall_buffer"
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
_PRINTF = 2  # service
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

    @staticmethod
    def are_made_by(launch: Launch) -> bool:
        """Tell whether the kernel can call the host."""
        return any(argument.kind == ARGUMENT for argument in launch.kernel.arguments)

    def with_buffer(self, launch: Launch) -> Launch:
        """Return the launch with the buffer's address in its arguments, if the kernel has an argument for it."""
        for argument in launch.kernel.arguments:
            if argument.kind == ARGUMENT:
                block = bytearray(launch.kernarg.ljust(launch.kernel.kernarg_bytes, b"\0"))
                block[argument.offset : argument.offset + 8] = self._buffer().to_bytes(8, "little")
                return replace(launch, kernarg=bytes(block))
        return launch

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
                words[lane, 0] = self._piece(words[lane]) if service == _PRINTF else (1 << 64) - 1

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
