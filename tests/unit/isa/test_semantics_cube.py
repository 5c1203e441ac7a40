"""Do the cube-map instructions pick the face of the largest coordinate?"""

import pytest

from tests.unit.isa.lane_checks import check, flushed, from_float, sign_bit, to_float

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too

NAN = 0x7FC00000


def face(a, b, c):
    """Major axis ('z' wins ties, then 'y') and whether it is negative."""
    x, y, z = (to_float(v, "f32") for v in (a, b, c))
    if abs(z) >= abs(x) and abs(z) >= abs(y):
        return "z", z < 0
    return ("y", y < 0) if abs(y) >= abs(x) else ("x", x < 0)


def negate(v):
    return v ^ sign_bit("f32")


def identity(a, b, c):
    axis, negative = face(a, b, c)
    return from_float(float("xyz".index(axis) * 2 + negative), "f32")


def horizontal(a, b, c):
    return {
        ("x", False): negate(c),
        ("x", True): c,
        ("y", False): a,
        ("y", True): a,
        ("z", False): a,
        ("z", True): negate(a),
    }[face(a, b, c)]


def vertical(a, b, c):
    axis, negative = face(a, b, c)
    return (negate(c) if negative else c) if axis == "y" else negate(b)


def twice_major(a, b, c):
    axis, _ = face(a, b, c)
    value = to_float({"x": a, "y": b, "z": c}[axis], "f32")
    return from_float(value * 2, "f32")


REFERENCES = {
    "v_cubeid_f32": (identity, "never"),
    "v_cubesc_f32": (horizontal, "never"),
    "v_cubetc_f32": (vertical, "never"),
    "v_cubema_f32": (twice_major, "mode"),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_cube(name):
    reference, flush = REFERENCES[name]
    check(name, reference, flush)
    assert flushed(NAN, "f32") == NAN
