"""What scalar instructions compute, and where they branch (GCN3 ISA manual, chapters 4, 5, 12)."""

from collections.abc import Callable

from tests.support.oracle_isa.operands import constant, scalar_reader
from tests.support.oracle_isa.state import EXEC, M0, VCC, Wave, scalar_code
from tests.support.oracle_isa.text import Line, NotStatedError

Step = Callable[[Wave], None]
M32 = 0xFFFFFFFF
_NOTHING = (
    *("s_nop", "s_waitcnt", "s_sleep", "s_setprio", "s_sendmsg", "s_dcache_wb", "s_dcache_inv", "s_inst_prefetch"),
    *("s_icache_inv", "s_ttracedata", "s_incperflevel", "s_decperflevel", "s_dcache_wb_vol", "s_dcache_inv_vol"),
)


def signed(value: int, size: int = 32) -> int:
    """A two's-complement number."""
    value &= (1 << size) - 1
    return value - (1 << size) if value >> size - 1 else value


def _bfe(a: int, how: int, size: int, is_signed: bool) -> int:
    at, length = how & (31 if size == 32 else 63), how >> 16 & 127
    if not length:
        return 0
    part = (signed(a, size) if is_signed else a) >> at & (1 << length) - 1
    return signed(part, length) if is_signed and length < size else part


def _first_sign(a: int, size: int) -> int:
    held = signed(a, size)
    held = ~held if held < 0 else held
    return M32 if held == 0 else size - held.bit_length()


def _low_bit(a: int) -> int:
    return (a & -a).bit_length() - 1 if a else M32


def _quad(a: int, size: int) -> int:
    return sum(1 << k for k in range(size // 4) if a >> 4 * k & 15)


def _whole_quads(a: int, size: int) -> int:
    return sum(15 << 4 * k for k in range(size // 4) if a >> 4 * k & 15)


def _mirrored(a: int, size: int) -> int:
    return int(f"{a:0{size}b}"[::-1], 2)


# name: function of (a, b) as unsigned numbers, and SCC: "nz" result not zero, "" kept, or a function of (a, b, result)
_Pair = Callable[[int, int], int]
_TWO: dict[str, tuple[_Pair, str]] = {
    "and": (lambda a, b: a & b, "nz"),
    "or": (lambda a, b: a | b, "nz"),
    "xor": (lambda a, b: a ^ b, "nz"),
    "andn2": (lambda a, b: a & ~b, "nz"),
    "orn2": (lambda a, b: a | ~b, "nz"),
    "nand": (lambda a, b: ~(a & b), "nz"),
    "nor": (lambda a, b: ~(a | b), "nz"),
    "xnor": (lambda a, b: ~(a ^ b), "nz"),
}


def _two(line: Line) -> Step | None:
    """Instructions of two sources (SOP2)."""
    stem, _, kind = line.name[2:].rpartition("_")
    size = int(kind[1:]) if kind[1:].isdigit() else 32
    if len(line.operands) != 3 or line.name.startswith(("s_cmp", "s_load", "s_buffer", "s_store", "s_atomic")):
        return None
    words = max(1, size // 32)
    shift = stem in ("lshl", "lshr", "ashr", "bfe")
    a = scalar_reader(line.operands[1], words)
    b = scalar_reader(line.operands[2], 1 if shift or stem == "bfm" else words)
    if stem == "bfm":
        a = scalar_reader(line.operands[1])
    d, top = scalar_code(line.operands[0]), (1 << size) - 1

    def simple(function: _Pair, scc: str) -> Step:
        def step(w: Wave) -> None:
            result = function(a(w), b(w)) & top
            w.set_scalar(d, result, words)
            if scc:
                w.scc = int(result != 0)

        return step

    if stem in _TWO:
        return simple(*_TWO[stem])
    places = size - 1
    held: dict[str, tuple[_Pair, str]] = {
        "lshl": (lambda x, n: x << (n & places), "nz"),
        "lshr": (lambda x, n: x >> (n & places), "nz"),
        "ashr": (lambda x, n: signed(x, size) >> (n & places), "nz"),
        "bfm": (lambda x, y: ((1 << (x & places)) - 1) << (y & places), ""),
        "mul": (lambda x, y: x * y, ""),
        "bfe": (lambda x, how: _bfe(x, how, size, kind[0] == "i"), "nz"),
    }
    if stem in held:
        return simple(*held[stem])
    if stem in ("add", "sub", "addc", "subb", "absdiff", "min", "max", "cselect"):
        return _arithmetic(stem, kind, a, b, d, words)
    return None


def _arithmetic(stem: str, kind: str, a: Callable, b: Callable, d: int, words: int) -> Step:
    number = signed if kind[0] == "i" else (lambda x: x)

    def step(w: Wave) -> None:
        x, y = a(w), b(w)
        if stem == "cselect":
            w.set_scalar(d, x if w.scc else y, words)
            return
        if stem in ("min", "max"):
            first = number(x) < number(y) if stem == "min" else number(x) > number(y)
            w.scc = int(first)  # SCC says that the first source is the result; the manual compares with < and >
            w.set_scalar(d, x if first else y)
            return
        if stem == "absdiff":
            result = abs(signed(x - y)) & M32  # of the difference as a word
            w.set_scalar(d, result)
            w.scc = int(result != 0)
            return
        more = w.scc if stem in ("addc", "subb") else 0
        total = number(x) + number(y) + more if stem.startswith("add") else number(x) - number(y) - more
        w.set_scalar(d, total & M32)
        if kind[0] == "i":
            w.scc = int(not -(1 << 31) <= total < 1 << 31)
        else:
            w.scc = int(total > M32 or total < 0)

    return step


def _one(line: Line) -> Step | None:
    """Instructions of one source (SOP1)."""
    if line.name.startswith("s_cmp"):
        return None
    stem, _, kind = line.name[2:].rpartition("_")
    size = int(kind[1:]) if kind[1:].isdigit() else 32
    if line.name.startswith(("s_bcnt", "s_ff", "s_flbit")):
        stem, size = line.name[2:].split("_")[0], 64 if "64" in line.name else 32
    if len(line.operands) == 1 and stem == "getpc":
        d = scalar_code(line.operands[0])
        return lambda w: w.set_scalar(d, w.pc + line.size, 2)
    if len(line.operands) != 2:
        return None
    words = max(1, size // 32)
    a, d, top = scalar_reader(line.operands[1], words), scalar_code(line.operands[0]), (1 << size) - 1
    if stem.endswith("saveexec"):
        return _save_exec(stem, a, d)
    found: dict[str, tuple[Callable[[int], int], bool, int]] = {  # function, sets SCC, words of the result
        "mov": (lambda x: x, False, words),
        "not": (lambda x: ~x, True, words),
        "wqm": (lambda x: _whole_quads(x, size), True, words),
        "quadmask": (lambda x: _quad(x, size), True, words),
        "brev": (lambda x: _mirrored(x, size), False, words),
        "bcnt0": (lambda x: size - x.bit_count(), True, 1),
        "bcnt1": (lambda x: x.bit_count(), True, 1),
        "ff0": (lambda x: _low_bit(~x & top), False, 1),
        "ff1": (_low_bit, False, 1),
        "flbit": (lambda x: size - x.bit_length() if x else M32, False, 1),
        "abs": (lambda x: abs(signed(x)), True, 1),
    }
    if line.name in ("s_flbit_i32", "s_flbit_i32_i64"):
        found["flbit"] = (lambda x: _first_sign(x, size), False, 1)
    if stem == "sext_i32":
        return lambda w: w.set_scalar(d, signed(a(w) & (1 << size) - 1, size) & M32)
    if stem == "bitset0" or stem == "bitset1":
        at = scalar_reader(line.operands[1])

        def set_bit(w: Wave) -> None:
            held, one = (w.pair(d) if words == 2 else w.s[d]), 1 << (at(w) & size - 1)
            w.set_scalar(d, held | one if stem == "bitset1" else held & ~one, words)

        return set_bit
    if stem == "cmov":
        return lambda w: w.set_scalar(d, a(w), words) if w.scc else None
    if stem == "movrels":
        code = scalar_code(line.operands[1])
        return lambda w: w.set_scalar(d, sum(w.s[code + w.s[M0] + k] << 32 * k for k in range(words)), words)
    if stem == "movreld":
        return lambda w: w.set_scalar(d + w.s[M0], a(w), words)
    if stem not in found:
        return None
    function, sets, out = found[stem]

    def step(w: Wave) -> None:
        result = function(a(w)) & ((1 << 32 * out) - 1)
        w.set_scalar(d, result, out)
        if sets:
            w.scc = int(result != 0)

    return step


def _save_exec(stem: str, a: Callable[[Wave], int], d: int) -> Step:
    top = (1 << 64) - 1
    function = {
        "and": lambda x, e: x & e,
        "or": lambda x, e: x | e,
        "xor": lambda x, e: x ^ e,
        "andn2": lambda x, e: x & ~e,
        "orn2": lambda x, e: x | ~e,
        "nand": lambda x, e: ~(x & e),
        "nor": lambda x, e: ~(x | e),
        "xnor": lambda x, e: ~(x ^ e),
    }[stem.removesuffix("_saveexec")]

    def step(w: Wave) -> None:
        x, old = a(w), w.pair(EXEC)
        w.set_scalar(d, old, 2)
        result = function(x, old) & top
        w.set_exec(result)
        w.scc = int(result != 0)

    return step


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


def _compare(line: Line) -> Step | None:
    """s_cmp, s_cmpk, s_bitcmp."""
    name = line.name
    if name.startswith("s_bitcmp"):
        size = int(name[-2:])
        a, at, want = scalar_reader(line.operands[0], size // 32), scalar_reader(line.operands[1]), name[8] == "1"

        def bit(w: Wave) -> None:
            w.scc = int(bool(a(w) >> (at(w) & size - 1) & 1) == want)

        return bit
    if not name.startswith("s_cmp"):
        return None
    _, _, what, kind = name.split("_")
    compare, size = _COMPARE[what], int(kind[1:])
    a = scalar_reader(line.operands[0], size // 32)
    if name.startswith("s_cmpk"):
        short = int(line.operands[1], 0) & 0xFFFF
        value = signed(short, 16) & M32 if kind[0] == "i" else short
        b: Callable[[Wave], int] = lambda w: value  # noqa: E731
    else:
        b = scalar_reader(line.operands[1], size // 32)
    number = signed if kind[0] == "i" else (lambda x: x)

    def step(w: Wave) -> None:
        w.scc = int(compare(number(a(w)), number(b(w))))

    return step


def _short(line: Line) -> Step | None:
    """Instructions with a constant of 16 bits (SOPK)."""
    name = line.name
    if name in ("s_movk_i32", "s_cmovk_i32", "s_addk_i32", "s_mulk_i32"):
        d, value = scalar_code(line.operands[0]), signed(int(line.operands[1], 0), 16)

        def step(w: Wave) -> None:
            held = signed(w.s[d])
            if name == "s_addk_i32":
                w.scc = int(not -(1 << 31) <= held + value < 1 << 31)
                w.set_scalar(d, held + value & M32)
            elif name == "s_mulk_i32":
                w.set_scalar(d, held * value & M32)
            elif name == "s_movk_i32" or w.scc:
                w.set_scalar(d, value & M32)

        return step
    if not name.startswith(("s_setreg", "s_getreg")):
        return None
    get = name.startswith("s_getreg")
    place = line.operands[1 if get else 0].removeprefix("hwreg(").removesuffix(")").split(",")
    at, size = (int(place[1]), int(place[2])) if len(place) == 3 else (0, 32)
    if place[0].strip() != "HW_REG_MODE":
        raise NotStatedError(line.text)
    mask = (1 << size) - 1
    if get:
        d = scalar_code(line.operands[0])
        return lambda w: w.set_scalar(d, w.mode >> at & mask)
    fixed = constant(line.operands[1], "u32")
    value = scalar_reader(line.operands[1]) if fixed is None else lambda w: fixed

    def write(w: Wave) -> None:
        w.mode = w.mode & ~(mask << at) | (value(w) & mask) << at

    return write


def _jump(line: Line) -> Step | None:
    """Branches: they leave in the wavefront's pc where it goes on, less the instruction's size."""
    name = line.name
    if name.startswith("s_cbranch") or name == "s_branch":
        target = line.target - line.size
        taken: Callable[[Wave], bool] = {
            "s_branch": lambda w: True,
            "s_cbranch_scc0": lambda w: not w.scc,
            "s_cbranch_scc1": lambda w: bool(w.scc),
            "s_cbranch_vccz": lambda w: w.pair(VCC) == 0,
            "s_cbranch_vccnz": lambda w: w.pair(VCC) != 0,
            "s_cbranch_execz": lambda w: not w.active.any(),
            "s_cbranch_execnz": lambda w: bool(w.active.any()),
        }.get(name) or _refused(line)

        def step(w: Wave) -> None:
            if taken(w):
                w.pc = target + w.loaded_at

        return step
    if name in ("s_setpc_b64", "s_swappc_b64"):
        d = scalar_code(line.operands[0])
        source = scalar_code(line.operands[-1])

        def go(w: Wave) -> None:
            to = w.pair(source)
            if name == "s_swappc_b64":
                w.set_scalar(d, w.pc + line.size, 2)
            w.pc = to - line.size

        return go
    return None


def _refused(line: Line) -> Callable[[Wave], bool]:
    raise NotStatedError(line.text)


def step_of(line: Line) -> Step | None:
    """What a scalar instruction does; None for one of another kind. NotStatedError for one that is not known."""
    name = line.name
    if not name.startswith("s_") or name.startswith(("s_load", "s_buffer_load")):
        return None
    if name in _NOTHING:
        return lambda w: None
    if name in ("s_endpgm", "s_barrier"):
        state = {"s_endpgm": "ended", "s_barrier": "barrier"}[name]
        return lambda w: setattr(w, "state", state)
    for kind in (_compare, _short, _jump, _two, _one):
        step = kind(line)
        if step is not None:
            return step
    raise NotStatedError(f"{line.text}: not stated")
