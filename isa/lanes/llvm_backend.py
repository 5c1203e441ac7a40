"""LLVM back end: semantics traced into LLVM IR text, one function an operation.

A vector operation works on all 64 lanes at once when it is short, and in a loop over 16 lanes when its values would
not stay in registers. That is sound with a destination that is also a source, because rows alias only whole and
lanes are independent: each lane is read before it is written.
"""

import struct
from typing import Any

from isa.architecture import LANES, ROW_BYTES
from isa.lanes.host_mode import HALF_INPUTS, HALF_RESULTS, HostMode
from isa.lanes.table import HALF, HALF_NEAREST, Operation, rows_of
from isa.lanes.values import BITS, Maker, Value, is_float

CHUNK_LANES = 16
MAX_STRAIGHT_LINES = 48  # assumed: above this a 64-lane body spills more than a loop costs
ATTRIBUTES = 'attributes #0 = { nounwind noinline "min-legal-vector-width"="512" "prefer-vector-width"="512" }'

UNGUARDED = "$body"  # suffix of an operation's symbol without the check of the host's mode

_VECTOR_PARAMETERS = "i64 %d, i64 %a, i64 %b, i64 %c, i64 %exec, i64 %mask"
_SCALAR_PARAMETERS = "i64 %a, i64 %b, i64 %old_d, i64 %scc, i64 %out"
_ELEMENT = {"b": "i1", "f16": "half", "f32": "float", "f64": "double"}
_SUFFIX = {"f16": "f16", "f32": "f32", "f64": "f64"}
_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl"}
_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_UNARY = {"popcount": "ctpop", "bitreverse": "bitreverse", "sqrt": "sqrt"}
_UNARY |= {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven"}


def element(kind: str) -> str:
    """LLVM type of one lane."""
    return _ELEMENT.get(kind, f"i{BITS[kind]}")


class LlvmMaker(Maker):
    """Emits instructions into `lines`; `width` lanes a value, 0 for scalars."""

    def __init__(self, width: int, module: "ModuleText") -> None:
        self.width, self.module = width, module
        self.lines: list[str] = []
        self.count = 0

    def type(self, kind: str) -> str:
        """LLVM type of a value."""
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

    def constant(self, kind: str, number: Any) -> Value:
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
        return Value(self, kind, f"splat ({element(kind)} {text})" if self.width else text)

    def splat(self, kind: str, scalar: str) -> str:
        """A scalar in every lane."""
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
            return self._rounded(Value(self, kind, a), to).raw
        elif BITS[to] == BITS[kind]:
            return a
        elif BITS[to] < BITS[kind]:
            name = "trunc"
        else:
            name = "sext" if kind[0] == "i" else "zext"
        return self.emit(f"{name} {self.type(kind)} {a} to {self.type(to)}")

    def _rounded(self, a: Value, to: str) -> Value:
        """Integer to float, rounded once as the host's mode says; 0 becomes +0 in every mode.

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

    def _of_signed_words(self, a: Value, to: str) -> Value:
        """i32 to f32 or f64, by an intrinsic that assumes nothing about rounding: of its plain instruction LLVM makes
        an unsigned conversion where it sees that no word is negative."""
        name = f"llvm.experimental.constrained.sitofp.{self._mangled(to)}.{self._mangled('i32')}"
        head = f"{self.type(to)} @{name}({self.type('i32')}"
        self.module.declare(f"declare {head}, metadata, metadata)")
        call = f'call {head} {a.raw}, metadata !"round.dynamic", metadata !"fpexcept.ignore")'
        return Value(self, to, self.emit(call))

    def _saturated(self, kind: str, to: str, a: str) -> str:
        """Float to integer within range, then the ends and NaN; shorter than what LLVM makes of its own operation."""
        value, signed = Value(self, kind, a), to[0] == "i"
        low, high = (-(2.0 ** (BITS[to] - 1)), 2.0 ** (BITS[to] - 1)) if signed else (0.0, 2.0 ** BITS[to])
        inside = self.select(value > low, self.select(value < high, value, low), low)  # NaN becomes low
        name = "fptosi" if signed else "fptoui"
        number = Value(self, to, self.emit(f"{name} {self.type(kind)} {inside.raw} to {self.type(to)}"))
        number = self.select(value >= high, (1 << (BITS[to] - signed)) - 1, number)
        return self.select(value.is_nan(), 0, number).raw

    def choose(self, kind: str, condition: str, a: str, b: str) -> str:
        return self.emit(f"select {self.type('b')} {condition}, {self.type(kind)} {a}, {self.type(kind)} {b}")

    def fused(self, kind: str, a: str, b: str, c: str) -> str:
        kind_type = self.type(kind)
        return self.call(f"llvm.fma.{self._mangled(kind)}", kind_type, *((kind_type, v) for v in (a, b, c)))

    def lane(self) -> Value:
        numbers = ", ".join(f"i32 {i}" for i in range(self.width))
        base = "0"
        if self.width != LANES:
            base = self.emit("trunc i64 %lane0 to i32")
        return Value(self, "u32", self.emit(f"add {self.type('u32')} <{numbers}>, {self.splat('u32', base)}"))

    def _load_each(self, base: str, index: Value) -> Value:
        result = "poison"
        for i in range(self.width):
            lane = self.emit(f"extractelement {self.type('u32')} {index.raw}, i32 {i}")
            word = self.emit(f"zext i32 {lane} to i64")
            pointer = self.emit(f"getelementptr i32, ptr {base}, i64 {word}")
            loaded = self.emit(f"load i32, ptr {pointer}, align 4")
            result = self.emit(f"insertelement {self.type('u32')} {result}, i32 {loaded}, i32 {i}")
        return Value(self, "u32", result)

    def gather(self, argument: str, index: Value) -> Value:
        return self._load_each(self.emit(f"inttoptr i64 %{argument} to ptr"), index)

    def mask_lane(self, argument: str, index: Value) -> Value:
        word = Value(self, "u64", self.splat("u64", f"%{argument}"))
        return ((word >> index.to("u64")) & 1) != 0

    def lookup(self, table: tuple[int, ...], index: Value) -> Value:
        return self._load_each(self.module.table(table), index)

    def load(self, argument: str, kind: str, row: int = 0) -> Value:
        """Lanes of the row (or pair) `row` rows after the one at an argument's address."""
        base = self.emit(f"add i64 %{argument}, %offset")
        words = []
        for i in range(2 if BITS[kind] == 64 else 1):
            address = self.emit(f"add i64 {base}, {(row + i) * ROW_BYTES}")
            pointer = self.emit(f"inttoptr i64 {address} to ptr")
            words.append(Value(self, "u32", self.emit(f"load {self.type('u32')}, ptr {pointer}, align 64")))
        if BITS[kind] == 64:
            return (words[0].to("u64") | (words[1].to("u64") << 32)).as_(kind)
        return words[0].to(f"u{BITS[kind]}").as_(kind)

    def store_words(self, value: Value) -> list[str]:
        """The 32-bit words of a result; narrow results are zero-extended."""
        bits = value.bits()
        if BITS[value.kind] == 64:
            return [bits.to("u32").raw, (bits >> 32).to("u32").raw]
        return [bits.to("u32").raw]


class ModuleText:
    """The text of one LLVM module."""

    def __init__(self, host: HostMode) -> None:
        self.host = host
        self.declarations: dict[str, None] = {}
        self.tables: dict[tuple[int, ...], str] = {}
        self.functions: list[str] = []

    def declare(self, text: str) -> None:
        """Add a declaration once."""
        self.declarations[text] = None

    def table(self, words: tuple[int, ...]) -> str:
        """Name of a constant array."""
        return self.tables.setdefault(words, f"@table{len(self.tables)}")

    def text(self) -> str:
        """The whole module."""
        arrays = [
            f"{name} = private constant [{len(words)} x i32] [{', '.join(f'i32 {w}' for w in words)}], align 64"
            for words, name in self.tables.items()
        ]
        return "\n".join([*self.declarations, *arrays, *self.functions, ATTRIBUTES, ""])

    def add_vector(self, operation: Operation) -> None:
        """Emit a vector operation."""
        width = LANES
        wide = any(rows_of(t) > 1 for t in (*operation.signature.sources, *operation.signature.results) if t != "mask")
        if not wide:
            body = self._vector_body(operation, LANES)
        if wide or body.count("\n") > MAX_STRAIGHT_LINES:
            width = CHUNK_LANES
            body = self._vector_body(operation, CHUNK_LANES)
        guarded = operation.guarded
        name = f'@"{operation.name}{UNGUARDED if guarded else ""}"'
        head = f"define i64 {name}({_VECTOR_PARAMETERS}) #0 {{\nentry:\n"
        if width != LANES:
            head += "  br label %loop\nloop:\n  %k = phi i64 [ 0, %entry ], [ %next, %stored ]\n"
            head += "  %returned = phi i64 [ 0, %entry ], [ %collected, %stored ]\n"
            head += f"  %lane0 = mul i64 %k, {width}\n  %offset = mul i64 %k, {4 * width}\n"
        else:
            head += "  %offset = add i64 0, 0\n  %lane0 = add i64 0, 0\n"
        self.functions.append(head + body + "}\n")
        if guarded:
            self._add_guard(operation)

    def _add_guard(self, operation: Operation) -> None:
        """Run the operation in the host mode it needs: in another mode, change it, call, restore.

        MODE comes in mask_in, or in the low byte of d where that is a lane mask. The operation is called, never
        inlined next to the change, because LLVM moves floating-point instructions freely across changes of the
        host's mode.
        """
        host, wants = self.host, operation.host_mode
        head, parameters = "  %mode = trunc i64 %mask to i32\n", _VECTOR_PARAMETERS
        if operation.mode_with_destination:
            head = "  %low = trunc i64 %d to i32\n  %mode = and i32 %low, 255\n  %row = and i64 %d, -256\n"
            parameters = parameters.replace("%d", "%row")
        body = f'call i64 @"{operation.name}{UNGUARDED}"({parameters})'
        change = host.choose_fields(wants) + host.write_fields("%fields", "changing", self)
        back = host.write_fields("%mode", "restoring", self)
        other = f"{change}  %result = {body}\n{back}  ret i64 %result\n"
        if wants in (HALF, HALF_NEAREST):
            general = f'"{operation.name}$flush"'
            call = body.replace(f'@"{operation.name}{UNGUARDED}"', f"@{general}")
            other = other.replace(body, call)
            self.functions.append(self._flushing(operation, general))
        self.functions.append(
            f'define i64 @"{operation.name}"({_VECTOR_PARAMETERS}) #0 {{\n{head}{host.directly(wants)}'
            f"  br i1 %right, label %body, label %other\nbody:\n  %same = tail {body}\n  ret i64 %same\n"
            f"other:\n{other}}}\n"
        )

    def _flushing(self, operation: Operation, name: str) -> str:
        """The operation between flushes of its FP16 operands and result, as MODE in mask_in says."""
        text = f"define i64 @{name}({_VECTOR_PARAMETERS}) #0 {{\n"
        text += f"  %inputs = and i64 %mask, {HALF_INPUTS}\n  %results = and i64 %mask, {HALF_RESULTS}\n"
        flush = 'call i64 @"row_flush_f16"(i64 {d}, i64 {a}, i64 {keep}, i64 0, i64 %exec, i64 0)\n'
        call = f'call i64 @"{operation.name}{UNGUARDED}"({_VECTOR_PARAMETERS})'
        arguments = iter("abc")
        for token in operation.signature.operands:
            if token == "old:f16":  # lanes of exec are about to be overwritten
                text += "  %flushed_d = " + flush.format(d="%d", a="%d", keep="%inputs")
            elif token not in ("mask", "mode", "exec"):
                argument = next(arguments)
                if token == "f16":
                    copy = f"%copy_{argument}"
                    text += f"  {copy}_row = alloca [{LANES} x i32], align {ROW_BYTES}\n"
                    text += f"  {copy} = ptrtoint ptr {copy}_row to i64\n"
                    text += f"  %flushed_{argument} = " + flush.format(d=copy, a=f"%{argument}", keep="%inputs")
                    call = call.replace(f"i64 %{argument},", f"i64 {copy},")
        text += f"  %result = {call}\n"
        if operation.signature.destination == "f16":
            text += "  %flushed = " + flush.format(d="%d", a="%d", keep="%results")
        return text + "  ret i64 %result\n}\n"

    def _lane_bits(self, x: LlvmMaker, argument: str) -> str:
        if x.width == LANES:
            return x.emit(f"bitcast i64 %{argument} to <64 x i1>")
        shifted = x.emit(f"lshr i64 %{argument}, %lane0")
        narrow = x.emit(f"trunc i64 {shifted} to i{x.width}")
        return x.emit(f"bitcast i{x.width} {narrow} to <{x.width} x i1>")

    def _vector_body(self, operation: Operation, width: int) -> str:
        signature = operation.signature
        x = LlvmMaker(width, self)
        exec_lanes = self._lane_bits(x, "exec")
        arguments = iter("abc")
        operands: list[Any] = []
        for token in signature.operands:
            if token == "mask":
                operands.append(Value(x, "b", self._lane_bits(x, "mask")))
            elif token == "exec":
                operands.append(Value(x, "b", exec_lanes))
            elif token == "mode":
                operands.append(Value(x, "u32", x.splat("u32", x.emit("trunc i64 %mask to i32"))))
            elif token.startswith("old:"):
                operands.append(x.load("d", token[4:]))
            elif token == "imm":
                operands.append(Value(x, "u32", x.splat("u32", x.emit(f"trunc i64 %{next(arguments)} to i32"))))
            elif token == "row":
                next(arguments)
            else:
                kind, _, count = token.partition("x")
                argument = next(arguments)
                rows = [x.load(argument, kind, i * rows_of(kind)) for i in range(int(count or 1))]
                operands.append(tuple(rows) if count else rows[0])
        results = operation.function(x, *operands)
        if not isinstance(results, tuple):
            results = (results,)
        mask = None
        words: list[str] = []
        values = iter(results)
        for token in signature.results:
            if token == "mask":
                mask = next(values).raw
                continue
            kind, _, count = token.partition("x")
            for value in [next(values) for _ in range(int(count or 1))]:
                words += x.store_words(value.to(kind) if value.kind == "b" else value.as_(kind))
        if next(values, None) is not None:
            raise TypeError(f"{operation.name}: more results than its signature says")
        self._store(x, words, exec_lanes)
        returned = "0"
        if mask is not None:
            live = x.emit(f"and {x.type('b')} {mask}, {exec_lanes}")
            returned = x.emit(f"bitcast {x.type('b')} {live} to i{width}")
        x.lines.append("  br label %stored\nstored:")
        if width == LANES:
            x.lines.append(f"  ret i64 {returned}")
        else:
            if mask is not None:
                word = x.emit(f"zext i{width} {returned} to i64")
                word = x.emit(f"shl i64 {word}, %lane0")
                x.lines.append(f"  %collected = or i64 %returned, {word}")
            else:
                x.lines.append("  %collected = or i64 %returned, 0")
            x.lines.append("  %next = add i64 %k, 1")
            x.lines.append(f"  %done = icmp eq i64 %next, {LANES // width}")
            x.lines.append("  br i1 %done, label %finish, label %loop\nfinish:\n  ret i64 %collected")
        return "\n".join(x.lines) + "\n"

    def _store(self, x: LlvmMaker, words: list[str], exec_lanes: str) -> None:
        if not words:
            return
        pointers = []
        base = x.emit("add i64 %d, %offset")
        for i in range(len(words)):
            address = x.emit(f"add i64 {base}, {i * ROW_BYTES}")
            pointers.append(x.emit(f"inttoptr i64 {address} to ptr"))
        row = x.type("u32")
        x.lines.append("  %full = icmp eq i64 %exec, -1\n  br i1 %full, label %plain, label %masked\nplain:")
        x.lines += [f"  store {row} {w}, ptr {p}, align 64" for w, p in zip(words, pointers, strict=True)]
        x.lines.append("  br label %stores\nmasked:")
        for word, pointer in zip(words, pointers, strict=True):
            old = x.emit(f"load {row}, ptr {pointer}, align 64")
            x.lines.append(f"  store {row} {x.choose('u32', exec_lanes, word, old)}, ptr {pointer}, align 64")
        x.lines.append("  br label %stores\nstores:")

    def add_scalar(self, operation: Operation) -> None:
        """Emit a scalar operation: int64 of (a, b, old_d, scc, out)."""
        signature = operation.signature
        x = LlvmMaker(0, self)
        arguments = iter("ab")
        operands = []
        for token in signature.operands:
            if token == "scc":
                operands.append(Value(x, "b", x.emit("icmp ne i64 %scc, 0")))
                continue
            kind = token.removeprefix("old:")
            argument = "old_d" if token.startswith("old:") else next(arguments)
            operands.append(Value(x, "u64", f"%{argument}").to(f"u{BITS[kind]}").as_(kind))
        results = operation.function(x, *operands)
        if not isinstance(results, tuple):
            results = (results,)
        result, scc = "0", "%scc"
        for token, value in zip(signature.results, results, strict=True):
            if token == "scc":
                scc = value.to("u64").raw
            else:
                result = (value if value.kind == "b" else value.bits()).to("u64").raw
        x.lines.append("  %out_pointer = inttoptr i64 %out to ptr")
        x.lines.append(f"  store i64 {scc}, ptr %out_pointer, align 8\n  ret i64 {result}")
        lines = "\n".join(x.lines)
        self.functions.append(f'define i64 @"{operation.name}"({_SCALAR_PARAMETERS}) #0 {{\n{lines}\n}}\n')
