"""The LLVM module of all operations: one function an operation, around the body that its semantics is traced into.

A vector operation works on all 64 lanes at once when it is short, and in a loop over 16 lanes when its values would
not stay in registers. That is sound with a destination that is also a source, because rows alias only whole and
lanes are independent: each lane is read before it is written.
"""

from typing import Any

from isa.architecture import LANES, ROW_BYTES
from isa.lanes.host_mode import HALF_INPUTS, HALF_RESULTS, HostMode
from isa.lanes.llvm_backend import LlvmBackend
from isa.lanes.matrix import MatrixProduct
from isa.lanes.matrix_text import MatrixText
from isa.lanes.table import HALF, HALF_NEAREST, Operation, rows_of
from isa.lanes.values import BITS, LaneValue

CHUNK_LANES = 16
MAX_STRAIGHT_LINES = 48  # assumed: above this a 64-lane body spills more than a loop costs
ATTRIBUTES = 'attributes #0 = { nounwind noinline "min-legal-vector-width"="512" "prefer-vector-width"="512" }'

UNGUARDED = "$body"  # suffix of an operation's symbol without the check of the host's mode

_VECTOR_PARAMETERS = "i64 %d, i64 %a, i64 %b, i64 %c, i64 %exec, i64 %mask"
_SCALAR_PARAMETERS = "i64 %a, i64 %b, i64 %old_d, i64 %scc, i64 %out"


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
        """Return the name of a constant array."""
        return self.tables.setdefault(words, f"@table{len(self.tables)}")

    def text(self) -> str:
        """Return the text of the whole module."""
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

    def add_matrix(self, product: MatrixProduct) -> None:
        """Emit a matrix product, with the parameters of a vector operation."""
        body = MatrixText(product, self).body()
        name = f'@"{product.name}{UNGUARDED}"'
        self.functions.append(f"define i64 {name}({_VECTOR_PARAMETERS}) #0 {{\n{body}}}\n")
        self._add_guard(product)

    def _add_guard(self, operation: Operation | MatrixProduct) -> None:
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
            assert isinstance(operation, Operation)
            self.functions.append(self._flushing(operation, general))
        self.functions.append(
            f'define i64 @"{operation.name}"({_VECTOR_PARAMETERS}) #0 {{\n{head}{host.directly(wants)}'
            f"  br i1 %right, label %body, label %other\nbody:\n  %same = tail {body}\n  ret i64 %same\n"
            f"other:\n{other}}}\n"
        )

    def _flushing(self, operation: Operation, name: str) -> str:
        """Write the operation between flushes of its FP16 operands and result, as MODE in mask_in says."""
        text = f"define i64 @{name}({_VECTOR_PARAMETERS}) #0 {{\n"
        text += f"  %inputs = and i64 %mask, {HALF_INPUTS}\n  %results = and i64 %mask, {HALF_RESULTS}\n"
        flush = 'call i64 @"row_flush_f16"(i64 {d}, i64 {a}, i64 {keep}, i64 0, i64 %exec, i64 0)\n'
        call = f'call i64 @"{operation.name}{UNGUARDED}"({_VECTOR_PARAMETERS})'
        arguments = iter("abc")
        for token in operation.signature.operands:
            if token == "old:f16":  # lanes of exec are about to be overwritten
                text += "  %flushed_d = " + flush.format(d="%d", a="%d", keep="%inputs")
            elif token not in ("mask", "mode", "exec") and not token.startswith("old:"):
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

    def _lane_bits(self, x: LlvmBackend, argument: str) -> str:
        if x.width == LANES:
            return x.emit(f"bitcast i64 %{argument} to <64 x i1>")
        shifted = x.emit(f"lshr i64 %{argument}, %lane0")
        narrow = x.emit(f"trunc i64 {shifted} to i{x.width}")
        return x.emit(f"bitcast i{x.width} {narrow} to <{x.width} x i1>")

    def _vector_body(self, operation: Operation, width: int) -> str:
        signature = operation.signature
        x = LlvmBackend(width, self)
        exec_lanes = self._lane_bits(x, "exec")
        arguments = iter("abc")
        operands: list[Any] = []
        for token in signature.operands:
            if token == "mask":
                operands.append(LaneValue(x, "b", self._lane_bits(x, "mask")))
            elif token == "exec":
                operands.append(LaneValue(x, "b", exec_lanes))
            elif token == "mode":
                operands.append(LaneValue(x, "u32", x.splat("u32", x.emit("trunc i64 %mask to i32"))))
            elif token.startswith("old:"):
                operands.append(x.load("d", token[4:]))
            elif token == "imm":
                operands.append(LaneValue(x, "u32", x.splat("u32", x.emit(f"trunc i64 %{next(arguments)} to i32"))))
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

    def _store(self, x: LlvmBackend, words: list[str], exec_lanes: str) -> None:
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
        """Emit a scalar operation: an int64 function of (a, b, old_d, scc, out)."""
        signature = operation.signature
        x = LlvmBackend(0, self)
        arguments = iter("ab")
        operands = []
        for token in signature.operands:
            if token == "scc":
                operands.append(LaneValue(x, "b", x.emit("icmp ne i64 %scc, 0")))
                continue
            kind = token.removeprefix("old:")
            argument = "old_d" if token.startswith("old:") else next(arguments)
            operands.append(LaneValue(x, "u64", f"%{argument}").to(f"u{BITS[kind]}").as_(kind))
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
