"""Do comparisons return the right lanes for numbers, NaN, both zeros and every class of float?"""

from math import isinf, isnan

import pytest

from tests.unit.isa.lane_checks import check, infinity, sign_bit, to_float

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too

# outcomes that make a condition true: Less, Equal, Greater, Unordered
FLOAT = {"f": "", "lt": "L", "eq": "E", "le": "LE", "gt": "G", "lg": "LG", "ge": "GE", "o": "LEG"}
FLOAT |= {"u": "U", "nge": "LU", "nlg": "EU", "ngt": "LEU", "nle": "GU", "neq": "LGU", "nlt": "EGU", "tru": "LEGU"}
INTEGER = {"f": "", "lt": "L", "eq": "E", "le": "LE", "gt": "G", "ne": "LG", "ge": "GE", "t": "LEG"}


def outcome(a, b):
    return "U" if isnan(a) or isnan(b) else "L" if a < b else "E" if a == b else "G"


def float_reference(kind, truths):
    return lambda a, b: outcome(to_float(a, kind), to_float(b, kind)) in truths if truths else False


def integer_reference(kind, truths):
    bits = int(kind[1:])

    def number(v):
        return v - (1 << bits) if kind[0] == "i" and v >> (bits - 1) else v

    return lambda a, b: bool(truths) and outcome(number(a), number(b)) in truths


def class_reference(kind):
    mantissa = {"f16": 10, "f32": 23, "f64": 52}[kind]

    def reference(bits, wanted):
        value = to_float(bits, kind)
        negative = bool(bits & sign_bit(kind))
        if isnan(value):
            bit = 1 if bits >> (mantissa - 1) & 1 else 0
            return bool(wanted >> bit & 1)
        if isinf(value):
            rank = 0
        elif value == 0:
            rank = 3
        else:
            smallest = {"f16": 2.0**-14, "f32": 2.0**-126, "f64": 2.0**-1022}[kind]
            rank = 1 if abs(value) >= smallest else 2
        return bool(wanted >> (2 + rank if negative else 9 - rank) & 1)

    return reference


REFERENCES = {}
for _prefix in ("v_cmp", "v_cmpx"):
    for _kind in ("f16", "f32", "f64"):
        for _condition, _truths in FLOAT.items():
            REFERENCES[f"{_prefix}_{_condition}_{_kind}"] = float_reference(_kind, _truths)
        REFERENCES[f"{_prefix}_class_{_kind}"] = class_reference(_kind)
    for _kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
        for _condition, _truths in INTEGER.items():
            REFERENCES[f"{_prefix}_{_condition}_{_kind}"] = integer_reference(_kind, _truths)


@pytest.mark.parametrize("kind", ["f16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_comparison(kind):
    flush = "mode" if kind == "f32" else "never"
    for name, reference in REFERENCES.items():
        if name.endswith(kind) and name.startswith("v_cmp_"):
            check(name, reference, "never" if "class" in name else flush, trials=4)
        elif name.endswith(kind):
            check(name, reference, "never" if "class" in name else flush, trials=1)


def test_infinity_is_not_a_number_class():
    assert class_reference("f32")(infinity("f32"), 1 << 9) and not class_reference("f32")(infinity("f32"), 3)
