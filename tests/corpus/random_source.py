"""Random OpenCL C: functions of a work-item over every scalar type, for the simulator and for the host's own processor.

Nothing in them is undefined, so that both must give the same: shifts are masked, divisors are not zero, signed
arithmetic wraps (-fwrapv), products and sums are not fused (-ffp-contract=off), numbers stay in range.
"""

import random

INPUTS = 16  # numbers a work-item reads: integers, then as many floats
INTEGERS = ("int", "uint", "long", "ulong", "short", "uchar")
FLOATS = ("float", "double")
_LIMITS = {"int": 2e9, "uint": 4e9, "long": 9e17, "ulong": 9e17, "short": 32000, "uchar": 255}

HEAD = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#ifdef HOST
#define EACH_ITEM for (uint id = 0; id < n; id++)
#else
#define PLACE (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())
#define EACH_ITEM for (uint id = PLACE; id < n; id = n)
#endif
static double positive(double x, double limit) { return x > limit ? limit : x > 0 ? x : 0.5; }
static double bounded(double x, double limit) { return x < 0 ? -positive(-x, limit) : positive(x, limit); }
static double tame(double x)
{
    double size = x < 0 ? -x : x;
    return size > 1e6 ? x * 1e-9 + 3 : size < 1e-6 ? 0.25 : size == size ? x : 7;
}
"""


class Program:
    """One function's text, drawn from `seed`."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._names: dict[str, list[str]] = {kind: [] for kind in INTEGERS + FLOATS}
        self._writable: list[tuple[str, str]] = []
        self._count = 0
        self.name = f"program_{seed}"
        self.text = self._kernel()

    def _kernel(self) -> str:
        lines = []
        for k in range(4):
            kind = self._draw.choice(INTEGERS)
            lines.append(f"{kind} in{k} = ({kind})(integers[id * {INPUTS} + {k}] >> {self._draw.randrange(0, 40)});")
            self._names[kind].append(f"in{k}")
            kind = self._draw.choice(FLOATS)
            lines.append(f"{kind} fin{k} = ({kind})floats[id * {INPUTS} + {k}];")
            self._names[kind].append(f"fin{k}")
        lines.append("int table[8] = {3, -1, 4, 1, -5, 9, 2, -6};")
        lines += self._block(3, 8)
        for k, (kind, name) in enumerate(self._writable[:6]):
            target = "results" if kind in INTEGERS else "numbers"
            lines.append(f"{target}[id * 8 + {k}] = ({'long' if kind in INTEGERS else 'double'}){name};")
        lines.append("results[id * 8 + 7] = table[id & 7] ^ table[3];")
        body = "\n        ".join(lines)
        return (
            f"kernel void {self.name}(global const long *integers, global const double *floats, global long *results,"
            f" global double *numbers, uint n)\n{{\n    EACH_ITEM {{\n        {body}\n    }}\n}}\n"
        )

    def _block(self, depth: int, statements: int) -> list[str]:
        lines: list[str] = []
        for _ in range(statements):
            lines += self._statement(depth)
        return lines

    def _statement(self, depth: int) -> list[str]:
        kind = self._draw.choice(INTEGERS + FLOATS)
        choice = self._draw.random()
        if depth == 3 and (choice < 0.5 or not self._writable):
            self._count += 1
            name = f"v{self._count}"
            line = f"{kind} {name} = {self._value(kind, 3)};"
            self._names[kind].append(name)
            self._writable.append((kind, name))
            return [line]
        if depth and choice > 0.6:
            return self._compound(depth)
        if choice < 0.1:
            return [f"table[{self._integer('uint', 2)} & 7] = {self._integer('int', 2)};"]
        if not self._writable:
            return []
        kind, name = self._draw.choice(self._writable)
        return [f"{name} = {self._value(kind, 3)};"]

    def _compound(self, depth: int) -> list[str]:
        inner = [f"    {line}" for line in self._block(depth - 1, self._draw.randint(1, 3))]
        form = self._draw.randrange(4)
        if form == 0:
            other = [f"    {line}" for line in self._block(depth - 1, 2)]
            return [f"if ({self._condition()}) {{", *inner, "} else {", *other, "}"]
        if form == 1:
            self._count += 1
            i = f"i{self._count}"
            leave = [f"    if ({self._condition()}) {self._draw.choice(('break', 'continue'))};"]
            return [
                f"for (int {i} = 0; {i} < ({self._integer('int', 1)} & 7); {i}++) {{",
                *inner,
                *leave,
                *inner,
                "}",
            ]
        if form == 2:
            cases = []
            for k in range(3):
                cases += [f"case {k}:;", *[f"    {line}" for line in self._block(depth - 1, 1)]]
                cases += ["    break;"] if self._draw.random() < 0.7 else []
            return [f"switch ({self._integer('uint', 2)} & 3) {{", *cases, "default:;", *inner, "}"]
        return [f"if ({self._condition()}) {{", *inner, "}"]

    def _condition(self) -> str:
        kind = self._draw.choice(INTEGERS + FLOATS)
        compare = self._draw.choice(("<", ">", "<=", ">=", "==", "!="))
        text = f"{self._value(kind, 1)} {compare} {self._value(kind, 1)}"
        return (
            text if self._draw.random() < 0.7 else f"({text}) {self._draw.choice(('&&', '||'))} ({self._condition()})"
        )

    def _value(self, kind: str, depth: int) -> str:
        return self._integer(kind, depth) if kind in INTEGERS else self._float(kind, depth)

    def _leaf(self, kind: str) -> str:
        known = self._names[kind]
        if known and self._draw.random() < 0.8:
            return self._draw.choice(known)
        if kind in FLOATS:
            return f"({kind}){self._draw.choice((0.5, -1.25, 3.0, 1e-3, 77.7, -2.0))}"
        return f"({kind}){self._draw.choice((0, 1, 2, 7, 31, 255, -1, -128, 0x7FFF, 0x12345678))}"

    def _integer(self, kind: str, depth: int) -> str:
        if depth == 0 or self._draw.random() < 0.15:
            return self._leaf(kind)
        a, b = self._integer(kind, depth - 1), self._integer(kind, depth - 1)
        bits = 63 if "long" in kind else 31
        match self._draw.randrange(12):
            case 0 | 1:
                text = f"{a} {self._draw.choice('+-*')} {b}"
            case 2:
                text = f"{a} {self._draw.choice('&|^')} {b}"
            case 3:
                text = f"{a} {self._draw.choice(('<<', '>>'))} ((uint){b} & {bits})"
            case 4:
                text = f"{_dividend(kind, a)} {self._draw.choice('/%')} (({kind})(({b}) & 0x7f) + 1)"
            case 5:
                text = f"({self._condition()}) ? {a} : {b}"
            case 6:
                other = self._draw.choice(INTEGERS)
                text = f"({other})({a}) - {self._integer(other, depth - 1)}"
            case 7:
                function = "positive" if kind[0] == "u" else "bounded"
                text = f"{function}({self._float(self._draw.choice(FLOATS), depth - 1)}, {_LIMITS[kind]:.0f}.0)"
            case 8:
                text = f"~{a}"
            case 9:
                text = f"table[(uint)({a}) & 7]"
            case 10:
                text = f"__builtin_popcountl((ulong)({a}))"
            case _:
                larger = f"({a} > {b} ? {a} : {b})"
                text = f"{_dividend(kind, larger)} / ({kind})3"
        return f"(({kind})({text}))"

    def _float(self, kind: str, depth: int) -> str:
        if depth == 0 or self._draw.random() < 0.15:
            return self._leaf(kind)
        a, b = self._float(kind, depth - 1), self._float(kind, depth - 1)
        suffix = "f" if kind == "float" else ""
        match self._draw.randrange(9):
            case 0 | 1 | 2:
                text = f"{a} {self._draw.choice('+-*')} {b}"
            case 3:
                text = f"{a} / {b}"
            case 4:
                text = f"({self._condition()}) ? {a} : -{b}"
            case 5:
                text = f"({kind}){self._integer(self._draw.choice(INTEGERS), depth - 1)}"
            case 6:
                text = f"__builtin_{self._draw.choice(('floor', 'ceil', 'trunc', 'rint', 'fabs'))}{suffix}({a})"
            case 7:
                text = f"__builtin_sqrt{suffix}(__builtin_fabs{suffix}({a}))"
            case _:
                text = f"__builtin_fma{suffix}({a}, {b}, {self._leaf(kind)})"
        return f"(({kind})tame({text}))"


def _dividend(kind: str, text: str) -> str:
    """Without leading ones if unsigned: see the compiler's fault in the test."""
    masks = {"uint": "0x7fffffffu", "ulong": "0x7ffffffffffffffful"}
    return f"({text} & {masks[kind]})" if kind in masks else text


def source(seeds: range) -> tuple[str, list[str]]:
    """A source with one kernel a seed, and the kernels' names."""
    programs = [Program(seed) for seed in seeds]
    return HEAD + "\n".join(program.text for program in programs), [program.name for program in programs]
