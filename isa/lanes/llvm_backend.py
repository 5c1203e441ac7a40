"""LLVM back end: the operations of semantics as instructions of LLVM IR, in text."""

import struct
from typing import TYPE_CHECKING, Any

from isa.architecture import LANES, ROW_BYTES
from isa.lanes.values import BITS, LaneBackend, LaneValue, is_float

if TYPE_CHECKING:
    from isa.lanes.llvm_module import ModuleText

_ELEMENT = {"b": "i1", "f16": "half", "f32": "float", "f64": "double"}
_SUFFIX = {"f16": "f16", "f32": "f32", "f64": "f64"}
_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl"}
_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_UNARY = {"popcount": "ctpop", "bitreverse": "bitreverse", "sqrt": "sqrt"}
_UNARY |= {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven"}


def element(kind: str) -> str:
    """Return the LLVM type of one lane."""
    return _ELEMENT.get(kind, f"i{BITS[kind]}")


class LlvmBackend(LaneBackend):
    """Emits instructions into `lines`; `width` lanes a value, 0 for scalars."""

    def __init__(self, width: int, module: "ModuleText") -> None:
        self.width, self.module = width, module
        self.lines: list[str] = []
        self.count = 0

    def type(self, kind: str) -> str:
        """Return the LLVM type of a value."""
        return f"<{self.width} x {element(kind)}>" if self.width else element(kind)

    def emit(self, text: str) -> str:
        """Append an instruction and return its result's name."""
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def call(self, name: str, result: str, *arguments: tuple[str, str]) -> str:
        """Call an intrinsic, declaring it."""
        self.module.declare(f"declare {result} @{name}({', '.join(t for t, _ in arguments)})")
        return self.emit(f"call {result} @{name}({', '.join(f'{t} {v}' for t, v in arguments)})")

    def _mangled(self, kind: str) -> str:
        scalar = _SUFFIX.get(kind, element(kind))
        return f"v{self.width}{scalar}" if self.width else scalar

    def constant(self, kind: str, number: Any) -> LaneValue:
        if kind == "b":
            text = "true" if number else "false"
        elif kind == "f16":
            text = f"0xH{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"
        elif is_float(kind):
            if kind == "f32":
                number = struct.unpack("<f", struct.pack("<f", number))[0]
            text = f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
        else:
            text = str(int(number) & ((1 << BITS[kind]) - 1))
        return LaneValue(self, kind, f"splat ({element(kind)} {text})" if self.width else text)

    def splat(self, kind: str, scalar: str) -> str:
        """Put a scalar into every lane; returns the value's name."""
        if not self.width:
            return scalar
        one = self.emit(f"insertelement {self.type(kind)} poison, {element(kind)} {scalar}, i32 0")
        zero = f"<{self.width} x i32> zeroinitializer"
        return self.emit(f"shufflevector {self.type(kind)} {one}, {self.type(kind)} poison, {zero}")

    def binary(self, operation: str, kind: str, a: str, b: str) -> str:
        if is_float(kind):
            name = _FLOAT[operation]
        elif operation == "shr":
            name = "ashr" if kind[0] == "i" else "lshr"
        else:
            name = _INTEGER[operation]
        return self.emit(f"{name} {self.type(kind)} {a}, {b}")

    def compare(self, operation: str, kind: str, a: str, b: str) -> str:
        if is_float(kind):
            name = "fcmp " + ("une" if operation == "ne" else "o" + operation)
        elif operation in ("eq", "ne"):
            name = "icmp " + operation
        else:
            name = "icmp " + ("s" if kind[0] == "i" else "u") + operation
        return self.emit(f"{name} {self.type(kind)} {a}, {b}")

    def unary(self, operation: str, kind: str, a: str) -> str:
        kind_type = self.type(kind)
        if operation in ("ctlz", "cttz"):
            name = f"llvm.{operation}.{self._mangled(kind)}"
            return self.call(name, kind_type, (kind_type, a), ("i1", "false"))
        return self.call(f"llvm.{_UNARY[operation]}.{self._mangled(kind)}", kind_type, (kind_type, a))

    def reinterpret(self, kind: str, to: str, a: str) -> str:
        if element(kind) == element(to):
            return a
        return self.emit(f"bitcast {self.type(kind)} {a} to {self.type(to)}")

    def convert(self, kind: str, to: str, a: str) -> str:
        if is_float(kind) and is_float(to):
            name = "fpext" if BITS[to] > BITS[kind] else "fptrunc"
        elif is_float(kind):
            return self._saturated(kind, to, a)
        elif is_float(to):
            return self._rounded(LaneValue(self, kind, a), to).raw
        elif BITS[to] == BITS[kind]:
            return a
        elif BITS[to] < BITS[kind]:
            name = "trunc"
        else:
            name = "sext" if kind[0] == "i" else "zext"
        return self.emit(f"{name} {self.type(kind)} {a} to {self.type(to)}")

    def _rounded(self, a: LaneValue, to: str) -> LaneValue:
        """Convert an integer to float, rounded once as the host's mode says; 0 becomes +0 in every mode.

        Only signed 32-bit words are converted by the host. What LLVM makes of the others depends on the host: without
        AVX-512 unsigned words become a difference of magic numbers, which for 0 is -0 when the host rounds down. The
        sums below are exact, or add two +0; no `select` chooses between a sum and its operand, because LLVM adds -0
        instead, which is neutral only when the host rounds to nearest.
        """
        bits, signed = BITS[a.kind], a.kind[0] == "i"
        if (bits > 32 and to != "f64") or (bits > 16 and to == "f16"):
            raise TypeError(f"{a.kind} to {to} would be rounded twice")
        if to == "f16":
            return self._rounded(a, "f32").to("f16")
        if bits == 64:
            high = self._rounded((a >> 32).to("i32" if signed else "u32"), "f64")
            return high * 2.0**32 + self._rounded(a.to("u32"), "f64")
        if signed or bits < 32:
            return self._of_signed_words(a.to("i32"), to)
        large = a.as_("i32") < 0
        if to == "f64":
            return self._of_signed_words(a.as_("i32"), to) + self.select(large, self.f64(2.0**32), 0.0)
        halved = self.select(large, (a >> 1) | (a & 1), a)  # the bit that is lost still says "a little more"
        return self._of_signed_words(halved.as_("i32"), to) * self.select(large, self.f32(2.0), 1.0)

    def _of_signed_words(self, a: LaneValue, to: str) -> LaneValue:
        """Convert i32 to f32 or f64 by an intrinsic that makes no assumption about rounding.

        LLVM turns its plain instruction into an unsigned conversion where it sees that no word is negative.
        """
        name = f"llvm.experimental.constrained.sitofp.{self._mangled(to)}.{self._mangled('i32')}"
        head = f"{self.type(to)} @{name}({self.type('i32')}"
        self.module.declare(f"declare {head}, metadata, metadata)")
        call = f'call {head} {a.raw}, metadata !"round.dynamic", metadata !"fpexcept.ignore")'
        return LaneValue(self, to, self.emit(call))

    def _saturated(self, kind: str, to: str, a: str) -> str:
        """Convert float to integer, with saturation at both ends, and 0 for NaN.

        The code is shorter than what LLVM makes of its own operation.
        """
        value, signed = LaneValue(self, kind, a), to[0] == "i"
        low, high = (-(2.0 ** (BITS[to] - 1)), 2.0 ** (BITS[to] - 1)) if signed else (0.0, 2.0 ** BITS[to])
        inside = self.select(value > low, self.select(value < high, value, low), low)  # NaN becomes low
        name = "fptosi" if signed else "fptoui"
        number = LaneValue(self, to, self.emit(f"{name} {self.type(kind)} {inside.raw} to {self.type(to)}"))
        number = self.select(value >= high, (1 << (BITS[to] - signed)) - 1, number)
        return self.select(value.is_nan(), 0, number).raw

    def choose(self, kind: str, condition: str, a: str, b: str) -> str:
        return self.emit(f"select {self.type('b')} {condition}, {self.type(kind)} {a}, {self.type(kind)} {b}")

    def fused(self, kind: str, a: str, b: str, c: str) -> str:
        kind_type = self.type(kind)
        return self.call(f"llvm.fma.{self._mangled(kind)}", kind_type, *((kind_type, v) for v in (a, b, c)))

    def lane(self) -> LaneValue:
        numbers = ", ".join(f"i32 {i}" for i in range(self.width))
        base = "0"
        if self.width != LANES:
            base = self.emit("trunc i64 %lane0 to i32")
        return LaneValue(self, "u32", self.emit(f"add {self.type('u32')} <{numbers}>, {self.splat('u32', base)}"))

    def _load_each(self, base: str, index: LaneValue) -> LaneValue:
        result = "poison"
        for i in range(self.width):
            lane = self.emit(f"extractelement {self.type('u32')} {index.raw}, i32 {i}")
            word = self.emit(f"zext i32 {lane} to i64")
            pointer = self.emit(f"getelementptr i32, ptr {base}, i64 {word}")
            loaded = self.emit(f"load i32, ptr {pointer}, align 4")
            result = self.emit(f"insertelement {self.type('u32')} {result}, i32 {loaded}, i32 {i}")
        return LaneValue(self, "u32", result)

    def gather(self, argument: str, index: LaneValue, row: int = 0) -> LaneValue:
        address = self.emit(f"add i64 %{argument}, {row * ROW_BYTES}")
        return self._load_each(self.emit(f"inttoptr i64 {address} to ptr"), index)

    def mask_lane(self, argument: str, index: LaneValue) -> LaneValue:
        word = LaneValue(self, "u64", self.splat("u64", f"%{argument}"))
        return ((word >> index.to("u64")) & 1) != 0

    def lookup(self, table: tuple[int, ...], index: LaneValue) -> LaneValue:
        return self._load_each(self.module.table(table), index)

    def load(self, argument: str, kind: str, row: int = 0) -> LaneValue:
        """Load the lanes of the row (or pair) that is `row` rows after the one at an argument's address."""
        base = self.emit(f"add i64 %{argument}, %offset")
        words = []
        for i in range(2 if BITS[kind] == 64 else 1):
            address = self.emit(f"add i64 {base}, {(row + i) * ROW_BYTES}")
            pointer = self.emit(f"inttoptr i64 {address} to ptr")
            words.append(LaneValue(self, "u32", self.emit(f"load {self.type('u32')}, ptr {pointer}, align 64")))
        if BITS[kind] == 64:
            return (words[0].to("u64") | (words[1].to("u64") << 32)).as_(kind)
        return words[0].to(f"u{BITS[kind]}").as_(kind)

    def store_words(self, value: LaneValue) -> list[str]:
        """Return the 32-bit words of a result, low word first; narrow results are zero-extended."""
        bits = value.bits()
        if BITS[value.kind] == 64:
            return [bits.to("u32").raw, (bits >> 32).to("u32").raw]
        return [bits.to("u32").raw]
