"""The crossbar driven by hand: a machine that runs no kernel, and what its ports and channels do in a cycle."""

from typing import Any

from gpusim.model.core.gpu_spec import GpuSpec
from memory.address_map import l2_channel
from memory.cache.instruction import InstructionCacheSpec
from memory.cache.l2_state import L2Spec
from memory.dram.spec import DramSpec
from memory.network.crossbar import (
    crossbar_pick_request,
    crossbar_pop_request,
    crossbar_respond,
    crossbar_send,
    crossbar_take_response,
    take_answered,
    take_sent,
)
from memory.network.state import (
    FIRST_SCALAR_PORT,
    P_LINE,
    P_SOURCE,
    READ,
    SOURCE_CU_SHIFT,
    SOURCE_ID_SHIFT,
    CrossbarSpec,
)
from memory.translation.spec import TranslationSpec
from memory.unit_classes import SCALAR
from memory.wheel import SIZE, due
from tests.support.scripted import Script, ScriptedRun

LINE = 0x4000000
CHANNELS = 4


def gpu(**crossbar: object) -> GpuSpec:
    return GpuSpec(
        dram=DramSpec(model="ideal"),
        translation=TranslationSpec(model="off"),
        instruction_cache=InstructionCacheSpec(model="ideal"),
        l2=L2Spec(channels=CHANNELS),
        crossbar=CrossbarSpec(**crossbar),  # type: ignore[arg-type]
    )


def machine(**crossbar: object) -> Any:
    """A machine that runs no kernel: the crossbar's functions are called by hand."""
    return ScriptedRun(gpu(**crossbar), [[Script().end()]]).m


def lines(m: Any, channel: int, count: int) -> list[int]:
    """Lines of an L2 channel."""
    found = (line for line in range(LINE, LINE + 4096) if l2_channel(m, line) == channel)
    return [line for line, _ in zip(found, range(count), strict=False)]


def set_cycle(m: Any, now: int) -> None:
    """Let both sides of the crossbar be in a cycle."""
    m.wheel.now = m.wheel.far_now = now


def send(m: Any, now: int, port: int, line: int, tag: int = 0, kind: int = READ) -> None:
    """Have a port send a request."""
    set_cycle(m, now)
    crossbar_send(m, now, port, line, kind | port << SOURCE_CU_SHIFT | tag << SOURCE_ID_SHIFT, 0)
    take_sent(m, 0)


def respond(m: Any, now: int, t: int, channel: int, source: int) -> int:
    """Have a channel answer; returns the cycle in which the answer leaves."""
    leaves = int(crossbar_respond(m, now, t, channel, source))
    take_answered(m, 0)
    return leaves


def take_response(m: Any, now: int, port: int) -> int:
    """Source of the answer that the port takes in this cycle, or -1."""
    source = int(crossbar_take_response(m, now, port))
    take_sent(m, 0)
    return source


def take(m: Any, now: int, channel: int) -> tuple[int, int] | None:
    """(port, line) that the channel takes in this cycle."""
    found = take_tagged(m, now, channel)
    return None if found is None else (found[0], found[2])


def take_tagged(m: Any, now: int, channel: int) -> tuple[int, int, int] | None:
    """(port, tag, line) that the channel takes in this cycle."""
    set_cycle(m, now)
    port = int(crossbar_pick_request(m, now, channel))
    if port < 0:
        return None
    at = crossbar_pop_request(m, now, channel, port)
    take_answered(m, 0)
    return port, int(m.xbar.request[port, at, P_SOURCE]) >> SOURCE_ID_SHIFT, int(m.xbar.request[port, at, P_LINE])


def due_ports(m: Any, now: int, unit_class: int) -> list[int]:
    """Ports whose units run in this cycle: CUs by this class, and scalar caches; they are taken off the wheel."""
    set_cycle(m, now)
    words = [(unit_class, first, first) for first in range(0, FIRST_SCALAR_PORT, 64)] + [(SCALAR, 0, FIRST_SCALAR_PORT)]
    mask = 0
    for number, first, port in words:
        mask |= (int(due(m, now & (SIZE - 1), number, first)) & (1 << 64) - 1) << port
    return [port for port in range(mask.bit_length()) if mask >> port & 1]
