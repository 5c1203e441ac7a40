"""What the ideal crossbar has to itself: a given bandwidth, and a list of responses for each channel and port."""

from gpusim.base.jit import Machine, jit
from memory.network.state import MICRO, NUMBER_MASK, R_READY, R_SOURCE, SOURCE_CU_SHIFT, bit_of, look_for_late_answer
from memory.wheel import wake


@jit(cold=True)
def ideal_has_bandwidth(m: Machine, now, channel):
    """Return 1 if the channel's share of the bandwidth lets it take a request now; else 0, and it is woken when so."""
    x = m.xbar
    if x.o_free[channel] < (now + 1) * MICRO:
        return 1
    at = x.destination[channel]
    wake(m, at.takes, x.o_free[channel] // MICRO, at.unit)
    return 0


@jit(cold=True)
def ideal_use_bandwidth(m: Machine, now, channel):
    """Note that the channel takes a packet."""
    x = m.xbar
    x.o_free[channel] = max(x.o_free[channel], now * MICRO) + x.interval


@jit(cold=True)
def ideal_leaves(m: Machine, t, channel):
    """Return the cycle in which an answer that is ready at `t` leaves, which is when the given bandwidth lets it."""
    x = m.xbar
    if x.interval == 0:
        return t
    start = max(t * MICRO, x.r_free[channel])
    x.r_free[channel] = start + x.interval
    return start // MICRO


@jit(cold=True)
def ideal_receive(m: Machine, channel, source, ready):
    """Put an answer, which is there from cycle `ready` on, behind those of the channel for its port."""
    x = m.xbar
    q = x.r_free_slot[channel]
    x.response[channel, q, R_SOURCE] = source
    x.response[channel, q, R_READY] = ready
    port = (source >> SOURCE_CU_SHIFT) & NUMBER_MASK
    x.r_free_slot[channel] = x.r_next[channel, q]
    x.r_next[channel, q] = -1
    if x.r_first[channel, port] < 0:
        x.r_first[channel, port] = q
        x.returning[port] |= 1 << bit_of(channel)
        look_for_late_answer(m, ready, port)
    else:
        x.r_next[channel, x.r_last[channel, port]] = q
    x.r_last[channel, port] = q


@jit(cold=True)
def ideal_response_ready(m: Machine, now, channel, port):
    """Return 1 if the channel's oldest response for the port is there; if not, 0, and the port is woken later."""
    x = m.xbar
    ready = x.response[channel, x.r_first[channel, port], R_READY]
    if ready <= now:
        return 1
    look_for_late_answer(m, ready, port)
    return 0


@jit(cold=True)
def ideal_pop_response(m: Machine, now, channel, port):
    """Remove the channel's oldest response for the port; returns its source."""
    x = m.xbar
    h = x.r_first[channel, port]
    q = x.r_next[channel, h]
    x.r_first[channel, port] = q
    x.r_next[channel, h] = x.r_free_slot[channel]
    x.r_free_slot[channel] = h
    if q < 0:
        x.returning[port] &= ~(1 << bit_of(channel))
    else:
        look_for_late_answer(m, max(x.response[channel, q, R_READY], now + 1), port)
    return x.response[channel, h, R_SOURCE]
