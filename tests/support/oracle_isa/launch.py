"""A launch: memory as it was before, initial registers (LLVM AMDGPU guide), workgroups one after another."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.support.oracle_isa import accesses, scalar, vector
from tests.support.oracle_isa.accesses import PRIVATE_HIGH, SHARED_HIGH
from tests.support.oracle_isa.state import LANES, Memory, Wave
from tests.support.oracle_isa.text import (
    Descriptor,
    Line,
    NotStatedError,
    descriptor,
    disassembled,
    elf,
    hidden_arguments,
)

_BLOCK, _SCRATCH, _CODE = 0x7F00_0000_0000, 0x7E00_0000_0000, 0x7D00_0000_0000  # where this launch's own things lie
_STACK_BYTES = 16 << 10  # of a kernel whose need its compiler cannot tell, as AMD's runtime gives
Step = Callable[[Wave], None]
Watch = Callable[[Wave, Line], None]


@dataclass
class Request:
    """What is launched: an ELF file's kernel, its argument block, sizes; memory before, by address.

    code_address: where the object is among `memory`; None: it is loaded anew.
    """

    path: Path
    kernel: str
    arguments: bytes
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    dynamic_lds_bytes: int = 0
    memory: Mapping[int, np.ndarray] = field(default_factory=dict)
    code_address: int | None = None
    gpu: str = "gfx803"


class Executed:
    """A launch under way: `run` executes it, `memory` is what it leaves.

    most: instructions of all wavefronts before it counts as too long; watch: called before each instruction;
    last_first: of a workgroup's wavefronts the last one goes first from barrier to barrier: what depends on it is a
    race.
    """

    def __init__(
        self, request: Request, most: int = 10**7, watch: Watch | None = None, last_first: bool = False
    ) -> None:
        self.request, self.most, self.watch, self.last_first = request, most, watch, last_first
        self.object = elf(request.path)
        self.kernel: Descriptor = descriptor(self.object, request.kernel)
        self.executed = 0
        self.mnemonics: set[str] = set()
        symbol = self.object.symbols.get(request.kernel)
        end = self.kernel.entry + symbol.size if symbol and symbol.size else self.object.end
        self.lines = dict(disassembled(request.path, request.gpu, self.kernel.entry, end))
        self._steps: dict[int, tuple[Step, Line]] = {}
        self._lay_out()

    def _lay_out(self) -> None:
        request, kernel = self.request, self.kernel
        self.memory = Memory()
        for address, content in request.memory.items():
            self.memory.add(address, content)
        self.loaded_at = _CODE if request.code_address is None else request.code_address
        if request.code_address is None:
            image = np.zeros(self.object.end, np.uint8)
            for address, content in self.object.segments:
                image[address : address + len(content)] = np.frombuffer(content, np.uint8)
            for offset, value in self.object.relative:
                image[offset : offset + 8] = np.frombuffer(struct.pack("<Q", value + self.loaded_at), np.uint8)
            self.memory.add(self.loaded_at, image)
        self.groups = tuple(-(-g // n) for g, n in zip(request.global_size, request.local_size, strict=True))
        self.packet, self.queue, self.arguments = _BLOCK, _BLOCK + 0x1000, _BLOCK + 0x2000
        self.private_bytes = kernel.private_bytes + (_STACK_BYTES if kernel.asks(11) else 0)
        self.private_bytes += -self.private_bytes % 4
        lds_bytes = kernel.lds_bytes + request.dynamic_lds_bytes
        self.lds_bytes = lds_bytes
        dimensions = 3 if request.global_size[2] > 1 else 2 if request.global_size[1] > 1 else 1
        packet = struct.pack(
            *("<HHHHHHIIIIIQQQQ", 0x1502, dimensions, *request.local_size, 0, *request.global_size),
            *(kernel.private_bytes, lds_bytes, 0, self.arguments, 0, 0),
        )
        self.memory.add(self.packet, np.frombuffer(packet, np.uint8))
        queue = np.zeros(256, np.uint8)
        queue[0x40:0x48] = np.frombuffer(struct.pack("<II", SHARED_HIGH, PRIVATE_HIGH), np.uint8)
        self.memory.add(self.queue, queue)
        self.memory.add(self.arguments, np.frombuffer(self._arguments(dimensions).ljust(64, b"\0"), np.uint8))
        waves = -(-int(np.prod(request.local_size)) // LANES)
        if self.private_bytes:
            self.memory.add(_SCRATCH, np.zeros(waves * LANES * self.private_bytes, np.uint8))

    def _arguments(self, dimensions: int) -> bytes:
        """The argument block, with what a runtime fills in."""
        request = self.request
        block = bytearray(request.arguments)
        values = {
            "hidden_queue_ptr": self.queue,
            "hidden_private_base": PRIVATE_HIGH,
            "hidden_shared_base": SHARED_HIGH,
            "hidden_dynamic_lds_size": request.dynamic_lds_bytes,
            "hidden_grid_dims": dimensions,
        }
        for axis, total, local in zip("xyz", request.global_size, request.local_size, strict=True):
            values[f"hidden_block_count_{axis}"] = total // local
            values[f"hidden_group_size_{axis}"] = local
            values[f"hidden_remainder_{axis}"] = total % local
        for kind, (offset, size) in hidden_arguments(request.path).get(request.kernel, {}).items():
            if kind in values:
                block[offset : offset + size] = values[kind].to_bytes(8, "little")[:size]
        return bytes(block)

    def run(self, workgroups: range | None = None) -> Memory:
        """Execute the workgroups, each to its end."""
        x, y, z = self.groups
        with np.errstate(all="ignore"):
            for group in workgroups or range(x * y * z):
                self._workgroup(group)
        return self.memory

    def _workgroup(self, group: int) -> None:
        x, y, _ = self.groups
        place = (group % x, group // x % y, group // (x * y))
        size = tuple(
            min(n, total - n * at)
            for n, total, at in zip(self.request.local_size, self.request.global_size, place, strict=True)
        )
        items = size[0] * size[1] * size[2]
        lds = np.zeros(self.lds_bytes, np.uint8)
        waves = [self._wave(n, place, size, items, lds) for n in range(-(-items // LANES))]
        if self.last_first:
            waves.reverse()
        while any(w.state != "ended" for w in waves):
            for w in waves:
                while w.state == "ready":
                    self._step(w)
            if all(w.state in ("barrier", "ended") for w in waves):
                for w in waves:
                    w.state = "ready" if w.state == "barrier" else w.state

    def _wave(self, number: int, place: tuple[int, ...], size: tuple[int, ...], items: int, lds: np.ndarray) -> Wave:
        """A wavefront with its initial registers."""
        kernel = self.kernel
        w = Wave(self.memory, lds)
        w.number, w.group = number, place
        w.loaded_at = self.loaded_at
        w.pc = kernel.entry + self.loaded_at
        w.mode = kernel.rsrc1 >> 12 & 0xFF | (kernel.rsrc1 >> 21 & 1) << 8 | (kernel.rsrc1 >> 23 & 1) << 9
        w.private_base = _SCRATCH + number * LANES * self.private_bytes
        if self.private_bytes:
            self.memory.pieces[_SCRATCH][number * LANES * self.private_bytes :][: LANES * self.private_bytes] = 0
        user: list[int] = []

        def pair(value: int) -> None:
            user.extend((value & 0xFFFFFFFF, value >> 32))

        if kernel.asks(0):
            word3 = 1 << 23 | 3 << 21 | 1 << 19 | 7 << 12 | 4 << 15  # lane added, 64 across, dwords, a format
            user += [_SCRATCH & 0xFFFFFFFF, _SCRATCH >> 32 | 1 << 31, 0xFFFFFFFF, word3]
        for bit, value in ((1, self.packet), (2, self.queue), (3, self.arguments), (4, 0)):
            if kernel.asks(bit):
                pair(value)
        if kernel.asks(5):
            user += [0, self.private_bytes]
        if kernel.asks(6):
            user.append(self.private_bytes)
        wanted = kernel.rsrc2 >> 1 & 31
        user = (user + [0] * 16)[: max(wanted, len(user)) if wanted < len(user) else wanted]
        for axis in range(3):
            if kernel.rsrc2 >> 7 + axis & 1:
                user.append(place[axis])
        if kernel.rsrc2 >> 10 & 1:
            user.append((1 << 31 if number == 0 else 0) | -(-items // LANES))
        if kernel.rsrc2 & 1:
            user.append(number * LANES * self.private_bytes)
        for k, value in enumerate(user):
            w.s[k] = value
        live = min(LANES, items - number * LANES)
        w.set_exec((1 << live) - 1)
        item = number * LANES + np.arange(live)
        ids = (item % size[0], item // size[0] % size[1], item // (size[0] * size[1]))
        for axis in range((kernel.rsrc2 >> 11 & 3) + 1):
            w.v[axis, :live] = ids[axis]
        return w

    def _step(self, w: Wave) -> None:
        address = w.pc - self.loaded_at
        held = self._steps.get(address)
        if held is None:
            held = self._steps[address] = self._prepared(address)
        step, line = held
        if self.watch is not None:
            self.watch(w, line)
        step(w)
        w.pc += line.size
        w.executed += 1
        self.executed += 1
        if self.executed > self.most:
            raise NotStatedError(f"more than {self.most:,} instructions")

    def _prepared(self, address: int) -> tuple[Step, Line]:
        line = self.lines.get(address)
        if line is None:
            self.lines |= disassembled(self.request.path, self.request.gpu, address, self.object.end)
            line = self.lines.get(address)
        if line is None:
            raise NotStatedError(f"no instruction at {address:#x}")
        self.mnemonics.add(line.name)
        for module in (scalar, vector, accesses):
            step = module.step_of(line)
            if step is not None:
                return step, line
        raise NotStatedError(f"{line.text}: not stated")
