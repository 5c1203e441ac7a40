"""A cache without time: plain sets of lines under any replacement policy, to compare every cache and TLB with."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from memory.sets.replacement import first_order
from memory.sets.rows import NO_TAG, stride_of

SEED = 1  # GpuSpec.replacement_seed by default


def _murmur(number: int) -> int:
    """MurmurHash3's finaliser of 32 bits."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        number ^= number >> shift
        number = number * factor % 2**32
    return number ^ number >> 16


@dataclass
class ReferenceSet:
    """One set: the line of each way, None if it is empty."""

    ways: int
    lines: list[int | None] = field(default_factory=list)
    used: dict[int, int] = field(default_factory=dict)  # way: when it was used last
    filled: dict[int, int] = field(default_factory=dict)  # way: when it got its line
    pinned: set[int] = field(default_factory=set)  # ways that are being filled

    def __post_init__(self) -> None:
        self.lines = [None] * self.ways

    def held(self) -> list[int]:
        """Lines, the least recently used first."""
        ways = sorted((k for k, line in enumerate(self.lines) if line is not None), key=self.used.__getitem__)
        return [line for k in ways if (line := self.lines[k]) is not None]


def _least_recently_used(row: ReferenceSet, free: list[int], count: int) -> int:
    return min(free, key=lambda way: row.used[way])


def _first_in(row: ReferenceSet, free: list[int], count: int) -> int:
    return min(free, key=lambda way: row.filled[way])


def _tree(row: ReferenceSet, free: list[int], count: int) -> int:
    """Halve the ways, going each time to the half that does not hold the way used last of both."""
    ways = list(range(row.ways))
    while len(ways) > 1:
        left, right = ways[: len(ways) // 2], ways[len(ways) // 2 :]
        last = max(ways, key=lambda way: row.used.get(way, 0))
        ways = right if last in left and row.used.get(last, 0) else left
        if not set(ways) & set(free):
            ways = left if ways == right else right
    return ways[0]


def _drawn(row: ReferenceSet, free: list[int], count: int) -> int:
    first = _murmur(count) * row.ways >> 32
    return next(way % row.ways for way in range(first, first + row.ways) if way % row.ways in free)


VICTIM: dict[str, Callable[[ReferenceSet, list[int], int], int]] = {
    "lru": _least_recently_used,
    "fifo": _first_in,
    "plru": _tree,
    "random": _drawn,
}


class ReferenceCache:
    """Sets of lines that are there at once. number: of the cache among its like, from which random draws follow."""

    def __init__(self, sets: int, ways: int, policy: str = "lru", number: int = 0, seed: int = SEED) -> None:
        self.sets = [ReferenceSet(ways) for _ in range(sets)]
        self.choose = VICTIM[policy]
        self.count = first_order(policy, seed, number)

    def set_of(self, line: int) -> ReferenceSet:
        """The set in which a line lies."""
        return self.sets[line % len(self.sets)]

    def holds(self, line: int) -> bool:
        """Whether a line is there; changes nothing."""
        return line in self.set_of(line).lines

    def victim(self, line: int) -> int | None:
        """Way that the line would get; None if all are pinned."""
        row = self.set_of(line)
        free = [way for way in range(row.ways) if way not in row.pinned]
        empty = [way for way in free if row.lines[way] is None]
        if empty or not free:
            return empty[0] if empty else None
        return self.choose(row, free, self.count)

    def use(self, line: int) -> tuple[bool, int | None]:
        """Look a line up and insert it if it is not there: (hit, the line that went)."""
        row = self.set_of(line)
        hit, gone = line in row.lines, None
        if hit:
            way = row.lines.index(line)
        else:
            found = self.victim(line)
            if found is None:
                return False, None
            way = found
            gone, row.lines[way] = row.lines[way], line
        self.count += 1
        row.used[way] = self.count
        if not hit:
            row.filled[way] = self.count
        return hit, gone

    def all_used(self, lines: Iterable[int]) -> int:
        """Use lines one after the other; how many were hits."""
        return sum(self.use(line)[0] for line in lines)

    def forget(self) -> None:
        """Empty the cache, as an invalidation does."""
        for row in self.sets:
            for way in set(range(row.ways)) - row.pinned:
                row.lines[way] = None


def lines_of(rows: np.ndarray, sets: int, ways: int, first: int = 0) -> list[list[int | None]]:
    """The line of each way, None if it is empty, of `sets` rows of a machine's cache from row `first` on."""
    stride = stride_of(ways)
    tags = rows[2 * stride * first : 2 * stride * (first + sets)].reshape(sets, 2, stride)[:, 0, :ways]
    return [[None if tag == NO_TAG else int(tag) for tag in row] for row in tags]


WHOLE = (1 << 64) - 1  # mask of all bytes of a line


class ReferenceWrites:
    """A cache without time with a write policy: what goes to the level below, byte by byte.

    below: called with what the level below is asked for: "read", "write" or "atomic", the line, the mask of its bytes.
    parts: lines of 64 bytes, those that all numbers here name, that share a tag.
    """

    def __init__(
        self,
        lines: ReferenceCache,
        write: str,
        allocate: bool,
        below: Callable[[str, int, int], None],
        parts: int = 1,
    ) -> None:
        self.parts = parts
        self.lines, self.back, self.allocate, self.below = lines, write == "back", allocate, below
        self.held: dict[int, int] = {}  # line: bytes
        self.dirty: dict[int, int] = {}
        self.counts = {"hits": 0, "misses": 0, "write_backs": 0, "write_allocations": 0}

    def holds(self, line: int) -> bool:
        """Whether the line has a tag here; changes nothing."""
        return self.lines.holds(line // self.parts)

    def _parts_of(self, tag: int) -> list[int]:
        return [tag * self.parts + part for part in range(self.parts)]

    def use(self, line: int) -> bool:
        """Look a line up and insert it if it is not there, in the place of one that is written back; True if it was."""
        tag = line // self.parts
        if not self.holds(line):
            way = self.lines.victim(tag)
            gone = self.lines.set_of(tag).lines[way] if way is not None else None
            for part in [] if gone is None else self._parts_of(gone):
                self.clean(part)
                del self.held[part]
            self.held.update(dict.fromkeys(self._parts_of(tag), 0))
        return self.lines.use(tag)[0]

    def clean(self, line: int) -> None:
        """Write a line's dirty bytes back, if it has any."""
        if line in self.dirty:
            self.counts["write_backs"] += 1
            self.below("write", line, self.dirty.pop(line))

    def clean_all(self) -> None:
        """Write all dirty lines back, in the order of their sets and ways."""
        for row in self.lines.sets:
            for tag in row.lines:
                for line in [] if tag is None else self._parts_of(tag):
                    self.clean(line)

    def forget(self) -> None:
        """Write all dirty lines back and empty the cache."""
        self.clean_all()
        self.lines.forget()
        self.held.clear()

    def read(self, line: int) -> None:
        """Read a line: from here if all of it is here, else with what else of its tag's bytes is not here in whole."""
        hit = self.held.get(line) == WHOLE
        self.counts["hits" if hit else "misses"] += 1
        self.use(line)
        for part in [] if hit else self._parts_of(line // self.parts):
            if self.held[part] != WHOLE:
                self.held[part] = WHOLE
                self.below("read", part, WHOLE)

    def keep(self, line: int, mask: int, dirty: bool) -> None:
        """Put bytes into a line that is held."""
        self.held[line] |= mask
        if dirty:
            self.dirty[line] = self.dirty.get(line, 0) | mask
