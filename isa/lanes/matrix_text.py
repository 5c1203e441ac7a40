"""Matrix products as LLVM IR: A and B are taken apart into arrays of numbers, then each row of D is a chain of sums.

Where a row of D fills at least sixteen lanes, all of these multiply one element of A, and the rows are a loop; in
narrower products each lane picks its element, by shuffles. Sums are vectors of a row's lanes, so that a product of
32 x 32 x 8 takes 512 vector operations of sixteen lanes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isa.architecture import LANES, ROW_BYTES
from isa.lanes.llvm_backend import element
from isa.lanes.matrix import ELEMENT_BITS, FP8_FORMATS, SPARSE_GROUP, WHOLE_ROW, MatrixProduct

if TYPE_CHECKING:
    from isa.lanes.llvm_module import ModuleText

_ROW = f"<{LANES} x i32>"


class MatrixText:
    """The lines of one product's function."""

    def __init__(self, product: MatrixProduct, module: "ModuleText") -> None:
        self.product, self.module = product, module
        self.number = element(product.sum_kind)
        self.bytes = 8 if product.sum_kind == "f64" else 4
        self.lines: list[str] = []
        self._count = 0

    def emit(self, text: str) -> str:
        """Append an instruction and return its result's name."""
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def body(self) -> str:
        """Return the function's body: it reads rows at %a, %b, %c and writes those at %d, in all lanes."""
        for matrix in "ab":
            self._unpack(matrix)
        if self.product.sparse:
            self._unpack_choice()
        if self.product.n == WHOLE_ROW:
            self._narrow_rows()
        else:
            self._whole_rows()
        return "entry:\n" + "\n".join(self.lines) + "\n"

    def _row_pointer(self, argument: str, row: str, bytes_after: int = 0) -> str:
        """Return a pointer to a register row: `row` is a number or the name of an i64."""
        offset = self.emit(f"mul i64 {row}, {ROW_BYTES}")
        if bytes_after:
            offset = self.emit(f"add i64 {offset}, {bytes_after}")
        return self.emit(f"inttoptr i64 {self.emit(f'add i64 %{argument}, {offset}')} to ptr")

    def _unpack(self, matrix: str) -> None:
        """Write the elements of A or B into an array [elements, lanes] of numbers, named %a_numbers or %b_numbers."""
        kind = self.product.kind_of(matrix)
        numbers = f"<{LANES} x {self.number}>"
        count = self.product.stored if matrix == "a" else self.product.elements
        self.lines.append(f"  %{matrix}_numbers = alloca [{count} x {numbers}], align 64")
        bits = min(ELEMENT_BITS[kind], 32)
        for index in range(count):
            register, place = divmod(index * bits, 32)
            word = self._load_row(matrix, 2 * index if kind == "f64" else register)
            value = getattr(self, f"_from_{kind}")(word, place, matrix, index)
            pointer = self.emit(f"getelementptr {numbers}, ptr %{matrix}_numbers, i64 {index}")
            self.lines.append(f"  store {numbers} {value}, ptr {pointer}, align 64")

    def _unpack_choice(self) -> None:
        """Write which of four rows of B each element of A goes with into an array [elements, lanes], named %choice."""
        self.lines.append(f"  %choice = alloca [{self.product.stored} x {_ROW}], align 64")
        word = self._load_row("c", 0)
        for index in range(self.product.stored):
            down = self.emit(f"lshr {_ROW} {word}, splat (i32 {2 * index})")
            two = self.emit(f"and {_ROW} {down}, splat (i32 3)")
            pointer = self.emit(f"getelementptr {_ROW}, ptr %choice, i64 {index}")
            self.lines.append(f"  store {_ROW} {two}, ptr {pointer}, align 64")

    def _load_row(self, argument: str, row: int) -> str:
        return self.emit(f"load {_ROW}, ptr {self._row_pointer(argument, str(row))}, align 64")

    def _from_f32(self, word: str, place: int, matrix: str, index: int) -> str:
        return self.emit(f"bitcast {_ROW} {word} to <{LANES} x float>")

    def _from_f64(self, word: str, place: int, matrix: str, index: int) -> str:
        return self._double(word, self._load_row(matrix, 2 * index + 1), LANES)

    def _from_bf16(self, word: str, place: int, matrix: str, index: int) -> str:
        upper = (
            self.emit(f"and {_ROW} {word}, splat (i32 -65536)")
            if place
            else self.emit(f"shl {_ROW} {word}, splat (i32 16)")
        )
        return self.emit(f"bitcast {_ROW} {upper} to <{LANES} x float>")

    def _from_f16(self, word: str, place: int, matrix: str, index: int) -> str:
        if place:
            word = self.emit(f"lshr {_ROW} {word}, splat (i32 {place})")
        if self.product.flushes:
            exponent = self.emit(f"and {_ROW} {word}, splat (i32 31744)")
            small = self.emit(f"icmp eq {_ROW} {exponent}, zeroinitializer")
            sign = self.emit(f"and {_ROW} {word}, splat (i32 32768)")
            word = self.emit(f"select <{LANES} x i1> {small}, {_ROW} {sign}, {_ROW} {word}")
        narrow = self.emit(f"trunc {_ROW} {word} to <{LANES} x i16>")
        half = self.emit(f"bitcast <{LANES} x i16> {narrow} to <{LANES} x half>")
        return self.emit(f"fpext <{LANES} x half> {half} to <{LANES} x float>")

    def _from_i8(self, word: str, place: int, matrix: str, index: int) -> str:
        up = self.emit(f"shl {_ROW} {word}, splat (i32 {24 - place})")
        return self.emit(f"ashr {_ROW} {up}, splat (i32 24)")

    def _from_fp8(self, word: str, place: int, matrix: str, index: int) -> str:
        return self._from_byte(word, place, *FP8_FORMATS["fp8"])

    def _from_bf8(self, word: str, place: int, matrix: str, index: int) -> str:
        return self._from_byte(word, place, *FP8_FORMATS["bf8"])

    def _from_byte(self, word: str, place: int, mantissa: int, bias: int) -> str:
        """Put exponent and mantissa where FP32 has them; a product, which is exact, makes up for the other bias."""
        singles = f"<{LANES} x float>"
        byte = self.emit(f"and {_ROW} {self.emit(f'lshr {_ROW} {word}, splat (i32 {place})')}, splat (i32 255)")
        size = self.emit(f"and {_ROW} {byte}, splat (i32 127)")
        sign = self.emit(f"shl {_ROW} {self.emit(f'and {_ROW} {byte}, splat (i32 128)')}, splat (i32 24)")
        bits = self.emit(f"or {_ROW} {self.emit(f'shl {_ROW} {size}, splat (i32 {23 - mantissa})')}, {sign}")
        factor = self.emit(f"bitcast {_ROW} splat (i32 {(127 + 127 - bias) << 23}) to {singles}")
        number = self.emit(f"fmul {singles} {self.emit(f'bitcast {_ROW} {bits} to {singles}')}, {factor}")
        invalid = self.emit(f"icmp eq {_ROW} {byte}, splat (i32 128)")
        nan = self.emit(f"bitcast {_ROW} splat (i32 {0x7FC00000}) to {singles}")
        return self.emit(f"select <{LANES} x i1> {invalid}, {singles} {nan}, {singles} {number}")

    def _double(self, low: str, high: str, lanes: int) -> str:
        words, pairs = f"<{lanes} x i32>", f"<{lanes} x i64>"
        upper = self.emit(f"shl {pairs} {self.emit(f'zext {words} {high} to {pairs}')}, splat (i64 32)")
        both = self.emit(f"or {pairs} {upper}, {self.emit(f'zext {words} {low} to {pairs}')}")
        return self.emit(f"bitcast {pairs} {both} to <{lanes} x double>")

    def _sums(self, register: str, lane: int, lanes: int) -> str:
        """Load `lanes` elements of C from lane `lane` of a register on."""
        words = f"<{lanes} x i32>"
        if self.product.sum_kind != "f64":
            added = "d" if self.product.sparse else "c"
            word = self.emit(f"load {words}, ptr {self._row_pointer(added, register, 4 * lane)}, align 16")
            return self.emit(f"bitcast {words} {word} to <{lanes} x {self.number}>")
        first = self.emit(f"mul i64 {register}, 2")
        low, high = (
            self.emit(f"load {words}, ptr {self._row_pointer('c', first, ROW_BYTES * half + 4 * lane)}, align 16")
            for half in (0, 1)
        )
        return self._double(low, high, lanes)

    def _store(self, sums: str, register: str, lane: int, lanes: int) -> None:
        words = f"<{lanes} x i32>"
        if self.product.sum_kind != "f64":
            word = self.emit(f"bitcast <{lanes} x {self.number}> {sums} to {words}")
            self.lines.append(f"  store {words} {word}, ptr {self._row_pointer('d', register, 4 * lane)}, align 16")
            return
        pairs = f"<{lanes} x i64>"
        both = self.emit(f"bitcast <{lanes} x double> {sums} to {pairs}")
        first = self.emit(f"mul i64 {register}, 2")
        for half in (0, 1):
            part = self.emit(f"lshr {pairs} {both}, splat (i64 {32 * half})")
            word = self.emit(f"trunc {pairs} {part} to {words}")
            pointer = self._row_pointer("d", first, ROW_BYTES * half + 4 * lane)
            self.lines.append(f"  store {words} {word}, ptr {pointer}, align 16")

    def _add_product(self, sums: str, a: str, b: str, lanes: int) -> str:
        kind = f"<{lanes} x {self.number}>"
        if self.product.sum_kind == "i32":
            return self.emit(f"add {kind} {sums}, {self.emit(f'mul {kind} {a}, {b}')}")
        name = f"llvm.fma.v{lanes}{self.product.sum_kind}"
        self.module.declare(f"declare {kind} @{name}({kind}, {kind}, {kind})")
        return self.emit(f"call {kind} @{name}({kind} {a}, {kind} {b}, {kind} {sums})")

    def _whole_rows(self) -> None:
        """Loop over the registers of D; in each, `n` lanes of a row at a time have one element of A each."""
        product, lanes = self.product, self.product.n
        of_block = product.results // product.blocks
        self.lines.append("  br label %loop\nloop:\n  %register = phi i64 [ 0, %entry ], [ %next, %loop ]")
        block = self.emit(f"udiv i64 %register, {of_block}")
        within = self.emit(f"urem i64 %register, {of_block}")
        for part in range(LANES // lanes):
            row = self._row(within, part)
            a_lane = self.emit(f"add i64 {row}, {self.emit(f'mul i64 {block}, {product.m}')}")
            b_lane = self.emit(f"mul i64 {block}, {lanes}")
            sums = self._sums("%register", part * lanes, lanes)
            for k in range(product.k // 2 if product.sparse else product.k):
                behind, index = divmod(k, product.stored)
                a = self._splat(self._number("a", index, a_lane, product.m * product.blocks * behind), lanes)
                b_pointer = self._b_pointer(index, a_lane, b_lane, behind)
                b = self.emit(f"load <{lanes} x {self.number}>, ptr {b_pointer}, align 64")
                sums = self._add_product(sums, a, b, lanes)
            self._store(sums, "%register", part * lanes, lanes)
        self.lines.append("  %next = add i64 %register, 1")
        self.lines.append(f"  %done = icmp eq i64 %next, {product.results}")
        self.lines.append("  br i1 %done, label %finish, label %loop\nfinish:\n  ret i64 0")

    def _row(self, within: str, part: int) -> str:
        """Return the row of D in lanes `part` * n and after, of the register that is `within` the block's."""
        if self.product.sum_kind == "f64":
            return self.emit(f"add i64 {self.emit(f'mul i64 {within}, 4')}, {part}")
        four = self.emit(f"mul i64 {self.emit(f'udiv i64 {within}, 4')}, {4 * LANES // self.product.n}")
        return self.emit(f"add i64 {self.emit(f'add i64 {four}, {4 * part}')}, {self.emit(f'urem i64 {within}, 4')}")

    def _pointer(self, matrix: str, index: int, lane: str, more: int) -> str:
        place = self.emit(f"add i64 {lane}, {index * LANES + more}")
        return self.emit(f"getelementptr {self.number}, ptr %{matrix}_numbers, i64 {place}")

    def _b_pointer(self, index: int, a_lane: str, b_lane: str, behind: int) -> str:
        """Return a pointer to the row of B that goes with an element of A, `behind` groups after lane `a_lane`."""
        product = self.product
        more = product.n * product.blocks * behind
        if not product.sparse:
            return self._pointer("b", index, b_lane, more)
        at = self.emit(f"add i64 {a_lane}, {index * LANES + product.m * product.blocks * behind}")
        choice = self.emit(f"load i32, ptr {self.emit(f'getelementptr i32, ptr %choice, i64 {at}')}, align 4")
        moved = self.emit(f"mul i64 {self.emit(f'zext i32 {choice} to i64')}, {LANES}")
        return self._pointer("b", index // 2 * SPARSE_GROUP, self.emit(f"add i64 {b_lane}, {moved}"), more)

    def _number(self, matrix: str, index: int, lane: str, more: int) -> str:
        return self.emit(f"load {self.number}, ptr {self._pointer(matrix, index, lane, more)}, align {self.bytes}")

    def _splat(self, number: str, lanes: int) -> str:
        kind = f"<{lanes} x {self.number}>"
        first = self.emit(f"insertelement {kind} poison, {self.number} {number}, i32 0")
        return self.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def _narrow_rows(self) -> None:
        """Compute each register of D with all lanes at once, each with elements of A and B of its own."""
        kind = f"<{LANES} x {self.number}>"
        for register in range(self.product.results):
            sums = self._sums(str(register), 0, LANES)
            for k in range(self.product.k):
                index, a_lanes, b_lanes = self.product.sources(k)
                picked = []
                for matrix, chosen in (("a", a_lanes[register]), ("b", b_lanes[register])):
                    pointer = self.emit(f"getelementptr {kind}, ptr %{matrix}_numbers, i64 {index}")
                    every = self.emit(f"load {kind}, ptr {pointer}, align 64")
                    picked.append(self._shuffled(every, chosen))
                sums = self._add_product(sums, picked[0], picked[1], LANES)
            self._store(sums, str(register), 0, LANES)
        self.lines.append("  ret i64 0")

    def _shuffled(self, value: str, lanes: "Sequence[int] | np.ndarray") -> str:
        kind = f"<{LANES} x {self.number}>"
        mask = ", ".join(f"i32 {int(lane)}" for lane in lanes)
        return self.emit(f"shufflevector {kind} {value}, {kind} poison, <{LANES} x i32> <{mask}>")
