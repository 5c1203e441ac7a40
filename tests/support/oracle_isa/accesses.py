"""What memory instructions do: scalar loads, flat addresses, buffers, LDS (GCN3 ISA manual, chapters 7 to 10)."""

import re
import struct
from collections.abc import Callable

import numpy as np

from tests.support.oracle_isa.operands import scalar_reader, vector_number
from tests.support.oracle_isa.state import LANE, LANES, Wave, scalar_code
from tests.support.oracle_isa.text import Line, NotStatedError

Step = Callable[[Wave], None]
SHARED_HIGH, PRIVATE_HIGH = 0x3000_0000, 0x4000_0000  # bits 63:32 of flat addresses of LDS and private memory
_WORDS = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4}
_SMALL = {"ubyte": (1, False), "sbyte": (1, True), "ushort": (2, False), "sshort": (2, True)}
_STORED = {"byte": 1, "short": 2}


def _scalar_load(line: Line) -> Step:
    """s_load_dword... and s_buffer_load_dword...: the two low address bits count for nothing."""
    words = int(line.name.partition("dwordx")[2] or 1)
    d, base = scalar_code(line.operands[0]), scalar_code(line.operands[1])
    offset = scalar_reader(line.operands[2])
    buffer = line.name.startswith("s_buffer")

    def step(w: Wave) -> None:
        start = w.pair(base)
        at = offset(w)
        if buffer:
            records, stride = w.s[base + 2], w.s[base + 1] >> 16 & 0x3FFF
            start &= (1 << 48) - 1
            if (at & ~3) + 4 * words > records * (stride or 1):
                raise NotStatedError(f"{line.text}: beyond the buffer")
        address = (start & ~3) + (at & ~3)
        for k, value in enumerate(struct.unpack(f"<{words}I", w.memory.read(address, 4 * words))):
            w.set_scalar(d + k, value)

    return step


def _private_places(w: Wave, offsets: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """Where a work-item's private bytes lie: dwords of all lanes side by side."""
    offsets = offsets.astype(np.uint64)
    dwords = offsets // np.uint64(4) * np.uint64(4 * LANES)
    return np.uint64(w.private_base) + dwords + lanes.astype(np.uint64) * np.uint64(4) + offsets % np.uint64(4)


class _Lanes:
    """The bytes that the lanes of a flat access mean: memory, LDS or private memory, a dword (or less) at a time."""

    def __init__(self, w: Wave, addresses: np.ndarray, size: int) -> None:
        self.w, self.size = w, size
        self.active = np.flatnonzero(w.active)
        self.addresses = addresses[self.active]
        high = self.addresses >> np.uint64(32)
        self.shared, self.private = high == SHARED_HIGH, high == PRIVATE_HIGH
        self.plain = not (self.shared.any() or self.private.any())

    def _piece(self, at: int, size: int) -> np.ndarray:
        low = (self.addresses & np.uint64(0xFFFFFFFF)) + np.uint64(at)
        return (
            np.where(self.private, _private_places(self.w, low, self.active), self.addresses + np.uint64(at))
            if self.private.any()
            else self.addresses + np.uint64(at)
        )

    def load(self) -> np.ndarray:
        """uint8 [active lanes, bytes]."""
        if self.plain:
            return self.w.memory.gather(self.addresses, self.size)
        rows = np.zeros((len(self.active), self.size), np.uint8)
        for at in range(0, self.size, 4):
            size = min(4, self.size - at)
            for k, place in enumerate(self._piece(at, size).tolist()):
                if self.shared[k]:
                    low = place & 0xFFFFFFFF
                    rows[k, at : at + size] = self.w.lds[low : low + size]
                else:
                    rows[k, at : at + size] = np.frombuffer(self.w.memory.read(place, size), np.uint8)
        return rows

    def store(self, rows: np.ndarray) -> None:
        """The same rows into memory."""
        if self.plain:
            self.w.memory.scatter(self.addresses, rows)
            return
        for at in range(0, self.size, 4):
            size = min(4, self.size - at)
            for k, place in enumerate(self._piece(at, size).tolist()):
                if self.shared[k]:
                    low = place & 0xFFFFFFFF
                    self.w.lds[low : low + size] = rows[k, at : at + size]
                else:
                    self.w.memory.write(place, rows[k, at : at + size].tobytes())


def _extended(rows: np.ndarray, is_signed: bool) -> np.ndarray:
    """Small integers as dwords."""
    size = rows.shape[1]
    held = np.ascontiguousarray(rows).view(f"{'i' if is_signed else 'u'}{size}").ravel()
    return held.astype(np.int32).view(np.uint32) if is_signed else held.astype(np.uint32)


def _rows(w: Wave, v: int, words: int, lanes: np.ndarray) -> np.ndarray:
    """Registers of some lanes as bytes."""
    return np.ascontiguousarray(w.v[v : v + words, lanes].T).view(np.uint8).reshape(len(lanes), 4 * words)


def _put(w: Wave, v: int, rows: np.ndarray, lanes: np.ndarray) -> None:
    """Bytes into registers of some lanes."""
    words = np.ascontiguousarray(rows).view(np.uint32).reshape(len(lanes), -1)
    w.v[v : v + words.shape[1], lanes] = words.T


def _address(v: int) -> Callable[[Wave], np.ndarray]:
    return lambda w: w.v[v] | w.v[v + 1].astype(np.uint64) << np.uint64(32)


def _flat(line: Line) -> Step:
    """flat_load, flat_store, flat_atomic."""
    kind, _, what = line.name.removeprefix("flat_").partition("_")
    if kind == "atomic":
        return _flat_atomic(line, what)
    store = kind == "store"
    v_address, v_data = (vector_number(line.operands[k]) for k in ((0, 1) if store else (1, 0)))
    address = _address(v_address)
    words, small = _WORDS.get(what), _SMALL.get(what)
    size = 4 * words if words else _STORED[what] if store else small[0]

    def step(w: Wave) -> None:
        lanes = _Lanes(w, address(w), size)
        if not len(lanes.active):
            return
        if store:
            lanes.store(_rows(w, v_data, words or 1, lanes.active)[:, :size])
        elif words:
            _put(w, v_data, lanes.load(), lanes.active)
        else:
            w.v[v_data, lanes.active] = _extended(lanes.load(), small[1])

    return step


def _combined(what: str, old: int, data: int, compared: int, size: int) -> int:
    """What an atomic leaves in memory."""
    top = (1 << size) - 1

    def signed(x: int) -> int:
        return x - (1 << size) if x >> size - 1 else x

    if what in ("cmpswap", "cmpst"):
        return data if old == compared else old
    simple: dict[str, Callable[[], int]] = {
        "swap": lambda: data,
        "wrxchg": lambda: data,
        "add": lambda: old + data & top,
        "sub": lambda: old - data & top,
        "rsub": lambda: data - old & top,
        "smin": lambda: min(old, data, key=signed),
        "umin": lambda: min(old, data),
        "smax": lambda: max(old, data, key=signed),
        "umax": lambda: max(old, data),
        "and": lambda: old & data,
        "or": lambda: old | data,
        "xor": lambda: old ^ data,
        "inc": lambda: 0 if old >= data else old + 1,
        "dec": lambda: data if old == 0 or old > data else old - 1,
    }
    if what not in simple:
        raise NotStatedError(f"atomic {what}")
    return simple[what]()


def _flat_atomic(line: Line, what: str) -> Step:
    wide = what.endswith("_x2")
    what, size = what.removesuffix("_x2"), 8 if wide else 4
    returns = "glc" in line.modifiers
    places = [vector_number(one) for one in line.operands]
    v_old = places[0] if returns else None
    v_address, v_data = places[1:3] if returns else places[:2]
    address, words = _address(v_address), size // 4

    def step(w: Wave) -> None:
        lanes = _Lanes(w, address(w), size)
        if lanes.private.any():
            raise NotStatedError(f"{line.text}: an atomic on private memory")
        for k, lane in enumerate(lanes.active.tolist()):
            place = int(lanes.addresses[k])
            low = place & 0xFFFFFFFF
            raw = w.lds[low : low + size].tobytes() if lanes.shared[k] else w.memory.read(place, size)
            old = int.from_bytes(raw, "little")
            compared = _lane_word(w, v_data + words, words, lane) if what == "cmpswap" else 0
            data = _combined(what, old, _lane_word(w, v_data, words, lane), compared, 8 * size).to_bytes(size, "little")
            if lanes.shared[k]:
                w.lds[low : low + size] = np.frombuffer(data, np.uint8)
            else:
                w.memory.write(place, data)
            if v_old is not None:
                for n in range(words):
                    w.v[v_old + n, lane] = old >> 32 * n & 0xFFFFFFFF

    return step


def _lane_word(w: Wave, v: int, words: int, lane: int) -> int:
    return sum(int(w.v[v + k, lane]) << 32 * k for k in range(words))


def _buffer(line: Line) -> Step:
    """buffer_load and buffer_store by a resource, raw or swizzled."""
    kind, _, what = line.name.removeprefix("buffer_").partition("_")
    if kind not in ("load", "store") or "lds" in line.modifiers or "tfe" in line.modifiers:
        if line.name.startswith("buffer_wbinv"):
            return lambda w: None
        raise NotStatedError(line.text)
    store = kind == "store"
    v_data, v_address = vector_number(line.operands[0]), vector_number(line.operands[1])
    resource, scalar = scalar_code(line.operands[2]), scalar_reader(line.operands[3])
    indexed, offset_on = "idxen" in line.modifiers, "offen" in line.modifiers
    fixed = int(line.modifiers.get("offset", "0"), 0)
    words, small = _WORDS.get(what), _SMALL.get(what)
    if not words and not small and what not in _STORED:
        raise NotStatedError(line.text)
    size = 4 * words if words else _STORED[what] if store else small[0]

    def step(w: Wave) -> None:
        lanes = np.flatnonzero(w.active)
        if not len(lanes):
            return
        words_r = w.s[resource : resource + 4]
        base, stride = words_r[0] | (words_r[1] & 0xFFFF) << 32, words_r[1] >> 16 & 0x3FFF
        swizzled, add_lane = words_r[1] >> 31 & 1, words_r[3] >> 23 & 1
        element, across = 2 << (words_r[3] >> 19 & 3), 8 << (words_r[3] >> 21 & 3)
        index = np.zeros(len(lanes), np.uint64)
        offset = np.full(len(lanes), fixed, np.uint64)
        if indexed:
            index += w.v[v_address, lanes]
        if offset_on:
            offset += w.v[v_address + indexed, lanes]
        if add_lane:
            index += lanes.astype(np.uint64)
        soffset = scalar(w)
        inside = (
            (index < words_r[2])
            if stride and swizzled
            else offset + index * np.uint64(stride) + np.uint64(size) <= words_r[2]
        )
        rows = np.zeros((len(lanes), size), np.uint8)
        if store:
            rows[:] = _rows(w, v_data, words or 1, lanes)[:, :size]
        for at in range(0, size, 4):
            part = min(4, size - at)
            o = offset + np.uint64(at)
            if swizzled:
                line_, place = index // np.uint64(across), index % np.uint64(across)
                linear = (line_ * np.uint64(stride) + o // np.uint64(element) * np.uint64(element)) * np.uint64(across)
                linear = linear + place * np.uint64(element) + o % np.uint64(element)
            else:
                linear = index * np.uint64(stride) + o
            places = (np.uint64(base + soffset) + linear)[inside]
            if store:
                w.memory.scatter(places, rows[inside, at : at + part])
            else:
                rows[inside, at : at + part] = w.memory.gather(places, part)
        if not store and words:
            _put(w, v_data, rows, lanes)
        elif not store:
            w.v[v_data, lanes] = _extended(rows, small[1])

    return step


def _lds_load(w: Wave, addresses: np.ndarray, size: int) -> np.ndarray:
    """Bytes of LDS; outside of it 0."""
    first = addresses.astype(np.int64)
    there = (first >= 0) & (first + size <= len(w.lds))
    rows = np.zeros((len(first), size), np.uint8)
    rows[there] = w.lds[first[there][:, None] + np.arange(size)]
    return rows


def _lds_store(w: Wave, addresses: np.ndarray, rows: np.ndarray) -> None:
    """Bytes into LDS, lane after lane; what lies outside is dropped."""
    size = rows.shape[1]
    for first, row in zip(addresses.tolist(), rows, strict=True):
        if first + size <= len(w.lds):
            w.lds[first : first + size] = row


_DS_SIZES = {"b8": 1, "u8": 1, "i8": 1, "b16": 2, "u16": 2, "i16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16}


def _ds(line: Line) -> Step:
    """LDS: reads, writes, atomics, exchanges between lanes."""
    name = line.name.removeprefix("ds_")
    if "gds" in line.modifiers:
        raise NotStatedError(line.text)
    if name in ("permute_b32", "bpermute_b32", "swizzle_b32"):
        return _exchange(line, name)
    if name == "nop":
        return lambda w: None
    found = re.match(r"^(read|write)(2?)(st64)?_([bui]\d+)$", name)
    if not found:
        return _ds_atomic(line, name)
    way, two, far, kind = found.groups()
    size = _DS_SIZES[kind]
    words = max(1, size // 4)
    scale = (size * 64 if far else size) if two else 1
    offsets = [int(line.modifiers.get(f"offset{k}", "0"), 0) * scale for k in ("01" if two else ("",))]
    numbers = [vector_number(one) for one in line.operands]
    v_address = numbers[0] if way == "write" else numbers[1]

    def step(w: Wave) -> None:
        lanes = np.flatnonzero(w.active)
        address = w.v[v_address, lanes]
        if way == "write":
            for k, offset in enumerate(offsets):
                _lds_store(w, address + np.uint32(offset), _rows(w, numbers[1 + k], words, lanes)[:, :size])
            return
        found = [_lds_load(w, address + np.uint32(offset), size) for offset in offsets]
        for k, rows in enumerate(found):
            if size < 4:
                w.v[numbers[0], lanes] = _extended(rows, kind[0] == "i")
            elif len(lanes):
                _put(w, numbers[0] + k * words, rows, lanes)

    return step


def _ds_atomic(line: Line, name: str) -> Step:
    name, returns = (name.replace("_rtn", ""), True) if "_rtn" in name else (name, False)
    stem, _, kind = name.rpartition("_")
    if kind not in ("u32", "i32", "b32", "u64", "i64", "b64"):
        raise NotStatedError(line.text)
    what = stem if stem not in ("min", "max") else f"{'s' if kind[0] == 'i' else 'u'}{stem}"
    size = int(kind[1:]) // 8
    words = size // 4
    numbers = [vector_number(one) for one in line.operands]
    v_old = numbers[0] if returns else None
    v_address, *v_data = numbers[1:] if returns else numbers
    offset = int(line.modifiers.get("offset", "0"), 0)
    _combined(what, 0, 0, 0, 32)

    def step(w: Wave) -> None:
        for lane in np.flatnonzero(w.active):
            at = int(w.v[v_address, lane]) + offset & 0xFFFFFFFF
            old = int.from_bytes(w.lds[at : at + size].tobytes(), "little") if at + size <= len(w.lds) else 0
            held = [_lane_word(w, v, words, lane) for v in v_data]
            compared, data = held if len(held) == 2 else (0, held[0])
            if at + size <= len(w.lds):
                new = _combined(what, old, data, compared, 8 * size)
                w.lds[at : at + size] = np.frombuffer(new.to_bytes(size, "little"), np.uint8)
            if v_old is not None:
                for n in range(words):
                    w.v[v_old + n, lane] = old >> 32 * n & 0xFFFFFFFF

    return step


def _exchange(line: Line, name: str) -> Step:
    """ds_permute, ds_bpermute, ds_swizzle: lanes that do not run give 0."""
    numbers = [vector_number(one) for one in line.operands]
    text = line.text

    def step(w: Wave) -> None:
        offset = (
            int(line.modifiers.get("offset", "0"), 0)
            if "offset" in line.modifiers and line.modifiers["offset"][0].isdigit()
            else None
        )
        if name == "swizzle_b32":
            if offset is None:
                raise NotStatedError(text)
            if offset >> 15:
                source = (LANE & ~3) | (offset >> 2 * (LANE & 3) & 3)
            else:
                held = LANE & 31
                source = (LANE & 32) | ((held & (offset & 31) | offset >> 5 & 31) ^ (offset >> 10 & 31))
            value = np.where(w.active[source], w.v[numbers[1]][source], np.uint32(0))
        elif name == "bpermute_b32":
            source = ((w.v[numbers[1]] + np.uint32(offset or 0)) >> np.uint32(2) & np.uint32(63)).astype(np.int64)
            value = np.where(w.active[source], w.v[numbers[2]][source], np.uint32(0))
        else:
            to = ((w.v[numbers[1]] + np.uint32(offset or 0)) >> np.uint32(2) & np.uint32(63)).astype(np.int64)
            value = np.zeros(LANES, np.uint32)
            for lane in np.flatnonzero(w.active):
                value[to[lane]] = w.v[numbers[2], lane]
        np.copyto(w.v[numbers[0]], value, where=w.active)

    return step


def step_of(line: Line) -> Step | None:
    """What a memory instruction does; None for one of another kind. NotStatedError for one that is not known."""
    name = line.name
    if name.startswith(("s_load", "s_buffer_load")):
        return _scalar_load(line)
    if name.startswith("flat_"):
        return _flat(line)
    if name.startswith("buffer_"):
        return _buffer(line)
    if name.startswith("ds_"):
        return _ds(line)
    if name.startswith("image_"):
        raise NotStatedError(line.text)  # tests.support.images has what samplers make of texels
    return None
