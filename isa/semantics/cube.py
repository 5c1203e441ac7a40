"""Cube-map face selection: which axis is the major one, and the coordinates on that face."""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import KEEP_DENORMALS, vop


def _axes(a, b, c):
    """Tell whether z is the major axis, and whether y is where z is not: ties prefer z, then y."""
    z_major = (abs(c) >= abs(a)) & (abs(c) >= abs(b))
    y_major = abs(b) >= abs(a)
    return z_major, y_major


def _pick(x, a, b, c, of_x, of_y, of_z):
    z_major, y_major = _axes(a, b, c)
    return x.select(z_major, of_z, x.select(y_major, of_y, of_x))


@vop("v_cubeid_f32", "f32 f32 f32 -> f32", host_mode=KEEP_DENORMALS)
def v_cubeid_f32(x, a, b, c):
    def face(coordinate, positive):
        return x.select(coordinate < 0.0, x.f32(positive + 1.0), x.f32(positive))

    return _pick(x, a, b, c, face(a, 0.0), face(b, 2.0), face(c, 4.0))


vop("v_cubesc_f32", "f32 f32 f32 -> f32", host_mode=KEEP_DENORMALS)(
    lambda x, a, b, c: _pick(x, a, b, c, x.select(a < 0.0, c, -c), a, x.select(c < 0.0, -a, a))
)
vop("v_cubetc_f32", "f32 f32 f32 -> f32", host_mode=KEEP_DENORMALS)(
    lambda x, a, b, c: _pick(x, a, b, c, -b, x.select(b < 0.0, -c, c), -b)
)
vop("v_cubema_f32", "f32 f32 f32 -> f32")(lambda x, a, b, c: _pick(x, a, b, c, a * 2.0, b * 2.0, c * 2.0))
