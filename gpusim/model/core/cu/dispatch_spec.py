"""Specification of the dispatcher that feeds the compute units."""

from gpusim.base.spec import Spec, param
from gpusim.model.core.cu.dispatch_order import ORDERS
from memory.network.state import MAX_CUS


class DispatchSpec(Spec):
    """The dispatcher: shader engines launch workgroups side by side, each on its share of the compute units."""

    shader_engines: int = param(
        4,
        "shader engines, each with as many of the compute units as the others, in order of their numbers; no more than"
        " there are compute units",
        "Linux amdgpu driver, gfx_v8_0.c, and AMD at Hot Chips 27 (2015): 4 on Fiji; Polaris 10 assumed the same",
        ge=1,
        le=MAX_CUS,
    )
    wavefront_cycles: int = param(
        1,
        "cycles a shader engine needs to launch a wavefront; the next workgroup's follow after those of one. 0: none",
        "assumed: one wavefront a cycle and engine",
        ge=0,
        le=900,
    )
    order: str = param(
        "round_robin",
        "which compute unit with space gets the next workgroup, in an order in which engines and arrays take turns: "
        + "; ".join(f"{name}: {order.meaning}" for name, order in ORDERS.items()),
        "assumed",
        among=ORDERS,
    )
