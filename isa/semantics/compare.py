"""Comparisons. v_cmpx returns the same mask; the executor writes it to EXEC as well.

Sixteen float conditions are the four outcomes (less, equal, greater, unordered) in all combinations; the `n` forms are
the negation of the ordered ones. Eight integer conditions.
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import HOST_MODE, vop
from isa.lanes.values import BITS

_INTEGER = {
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
}


def _ordered(a, b):
    return (a == a) & (b == b)


_FLOAT = {
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "lg": lambda a, b: (a != b) & _ordered(a, b),
    "ge": lambda a, b: a >= b,
    "o": _ordered,
    "u": lambda a, b: ~_ordered(a, b),
    "nge": lambda a, b: ~(a >= b),
    "nlg": lambda a, b: (a == b) | ~_ordered(a, b),
    "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b),
    "neq": lambda a, b: a != b,
    "nlt": lambda a, b: ~(a < b),
}


def _both(condition, kind):
    return f"v_cmp_{condition}_{kind} v_cmpx_{condition}_{kind}"


def _define(condition, kind, function):
    wide = "f32" if kind == "f16" else kind

    @vop(_both(condition, kind), f"{kind} {kind} -> mask")
    def compare(x, a, b):
        return function(a.to(wide), b.to(wide))

    @vop(_both("f", kind), f"{kind} {kind} -> mask") if condition == "lt" else (lambda f: f)
    def never(x, a, b):
        return x.b(False)

    @(
        vop(_both("tru" if kind[0] == "f" else "t", kind), f"{kind} {kind} -> mask")
        if condition == "lt"
        else (lambda f: f)
    )
    def always(x, a, b):
        return x.b(True)


for _kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
    for _condition, _function in _INTEGER.items():
        _define(_condition, _kind, _function)
for _kind in ("f16", "f32", "f64"):
    for _condition, _function in _FLOAT.items():
        _define(_condition, _kind, _function)


def classify(x, a, wanted):
    """Tell whether a float belongs to one of the classes of a mask (bits as in the manual's v_cmp_class)."""
    width = BITS[a.kind]
    infinity = x.infinity_bits(a.kind)
    mantissa = {16: 10, 32: 23, 64: 52}[width]
    bits, size = a.bits(), abs(a).bits()
    negative = (bits >> (width - 1)) != 0
    nan = size > infinity
    quiet = (size & (1 << (mantissa - 1))) != 0
    infinite = size == infinity
    zero = size == 0
    denormal = (size < (1 << mantissa)) & ~zero
    normal = ~(nan | infinite | zero | denormal)
    positive = ~negative
    classes = (
        nan & ~quiet,
        nan & quiet,
        infinite & negative,
        normal & negative,
        denormal & negative,
        zero & negative,
        zero & positive,
        denormal & positive,
        normal & positive,
        infinite & positive,
    )
    result = x.b(False)
    for bit, member in enumerate(classes):
        result = result | (member & ((wanted & (1 << bit)) != 0))
    return result


for _kind in ("f16", "f32", "f64"):
    vop(_both("class", _kind), f"{_kind} u32 -> mask", host_mode=HOST_MODE)(classify)
