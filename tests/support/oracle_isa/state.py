"""What a wavefront holds, and memory as pieces: the bytes of allocations at their addresses."""

from bisect import bisect_right

import numpy as np

from tests.support.oracle_isa.text import NotStatedError

LANES = 64
VCC, M0, EXEC, FLAT_SCRATCH = 106, 124, 126, 102
_NAMED = {"vcc": VCC, "exec": EXEC, "flat_scratch": FLAT_SCRATCH, "xnack_mask": 104, "m0": M0}
SCALARS = {f"s{i}": i for i in range(102)} | {
    f"{name}{half}": number + (half == "_hi") for name, number in _NAMED.items() for half in ("", "_lo", "_hi")
}
ALL = (1 << LANES) - 1
LANE = np.arange(LANES)
ONE = np.uint64(1)


def lanes_of(mask: int) -> np.ndarray:
    """A lane mask as 64 truth values."""
    return np.unpackbits(np.frombuffer((mask & ALL).to_bytes(8, "little"), np.uint8), bitorder="little").astype(bool)


def mask_of(lanes: np.ndarray) -> int:
    """64 truth values as a lane mask."""
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")


class OutsideError(Exception):
    """An access outside all memory."""


class Memory:
    """Pieces of memory, each writable bytes at an address, in ascending order."""

    def __init__(self) -> None:
        self.pieces: dict[int, np.ndarray] = {}
        self._starts: list[int] = []

    def add(self, address: int, content: np.ndarray) -> None:
        """Add a piece; content: uint8, copied."""
        self.pieces[address] = content.copy()
        self._starts = sorted(self.pieces)

    def piece(self, address: int, size: int) -> tuple[np.ndarray, int]:
        """The piece that holds some bytes, and where in it they begin."""
        at = bisect_right(self._starts, address) - 1
        if at >= 0:
            start = self._starts[at]
            held = self.pieces[start]
            if address + size <= start + len(held):
                return held, address - start
        raise OutsideError(f"{size} bytes at {address:#x}")

    def read(self, address: int, size: int) -> bytes:
        """Some bytes."""
        held, at = self.piece(address, size)
        return held[at : at + size].tobytes()

    def write(self, address: int, data: bytes) -> None:
        """Write some bytes."""
        held, at = self.piece(address, len(data))
        held[at : at + len(data)] = np.frombuffer(data, np.uint8)

    def gather(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """The bytes at several addresses, uint8 [addresses, size]."""
        if not len(addresses):
            return np.zeros((0, size), np.uint8)
        low, high = int(addresses.min()), int(addresses.max())
        try:
            held, at = self.piece(low, high - low + size)
        except OutsideError:  # in several pieces
            rows = [np.frombuffer(self.read(int(one), size), np.uint8) for one in addresses]
            return np.array(rows)
        first = (addresses - np.uint64(low)).astype(np.int64) + at
        return held[first[:, None] + np.arange(size)]

    def scatter(self, addresses: np.ndarray, rows: np.ndarray) -> None:
        """Write rows of bytes at several addresses, in order."""
        for address, row in zip(addresses.tolist(), rows, strict=True):
            held, at = self.piece(address, len(row))
            held[at : at + len(row)] = row


class Wave:
    """A wavefront: vector registers uint32 [256, 64], scalar registers by operand code, SCC, MODE, lanes that run."""

    def __init__(self, memory: Memory, lds: np.ndarray, vectors: int = 256) -> None:
        self.memory, self.lds = memory, lds
        self.v = np.zeros((vectors, LANES), np.uint32)
        self.s = [0] * 128
        self.scc, self.mode, self.pc, self.executed = 0, 0, 0, 0
        self.active = np.ones(LANES, bool)
        self.private_base = 0  # address of the wavefront's private memory
        self.loaded_at = 0  # what the code's addresses are more than those that it was linked at
        self.state = "ready"  # "barrier", "ended"
        self.set_exec(ALL)

    def pair(self, number: int) -> int:
        """A 64-bit scalar register."""
        return self.s[number] | self.s[number + 1] << 32

    def set_scalar(self, number: int, value: int, words: int = 1) -> None:
        """Write scalar registers."""
        for k in range(words):
            self.s[number + k] = value >> 32 * k & 0xFFFFFFFF
        if number <= EXEC + 1 and number + words > EXEC:
            self.set_exec(self.pair(EXEC))

    def set_exec(self, mask: int) -> None:
        """Write EXEC."""
        self.s[EXEC], self.s[EXEC + 1] = mask & 0xFFFFFFFF, mask >> 32 & 0xFFFFFFFF
        self.active = lanes_of(mask)


def scalar_code(name: str) -> int:
    """The operand code of a scalar register by its name; of a range that of its first register."""
    if name in SCALARS:
        return SCALARS[name]
    if name.startswith("s[") and name.endswith("]"):
        return int(name[2:-1].partition(":")[0])
    raise NotStatedError(f"operand {name}")
