"""The crossbar between the vector and scalar L1 caches and the L2 channels: a request and a response network.

Each cache has one request port, each L2 channel one response port; a port moves one packet (up to 64 data bytes) a
cycle. The queue of a request port is at the channels' end of the way: an L2 channel looks at the oldest packets of
each port, `request_lookahead` of them, and takes the first one that is for it, from the ports round robin; so a packet
passes those before it that wait for other channels, never one for its own. A cache takes answers from the channels
round robin, the oldest of each. As no cache ever refuses one, which one it takes depends on the channels' ports alone:
the choice is the network's, made at the channels' end, and reaches the cache after the latency.

Flow control is by credits (memory/network/credits.py): a cache sends while it has a credit for a slot of its port's
queue, a channel answers while it has one for a slot at the caches, and a credit is back after the network's latency.
So what caches and channels do reaches the other side after that latency, and in no other way than as a packet or as a
credit (`_receive_...`). While two threads run the two sides (`gpusim.model.core.side_by_side`), what crosses waits in
an outbox, from which the other side takes it (`take_sent`, `take_answered`) in any cycle before it can be noticed. All
that a side reads and writes otherwise is its own. The channels' side then makes the network's choice, too
(`match_answers`): which answer a port takes in which cycle is known as soon as all are on their way that are there by
then. One thread makes it in that cycle.

A channel of 128 bytes a cycle (`l2.port_bytes`) moves both halves of a line as one packet: where a port's next packet
for the channel is the other half of the line that it has just taken, it takes that too, serves both in one cycle, and
sends both answers in one. There a cache's port has a queue, at the channels' end too: it takes from every channel that
has an answer for it while there is space, and the cache 64 bytes a cycle from the queue.

In the ideal form (memory/network/ideal.py) a packet is there after a fixed latency whatever other packets do: channels
look at all packets of a port, and ports move any number a cycle, unless the channels' shares of a given bandwidth say
less. What a cache or a channel takes in a cycle stays its own limit (one packet), the queues stay finite, and packets
from one port to one channel, and back, stay in order.
"""

from gpusim.base.jit import ONE, Machine, ctz, ctz_from, jit
from memory.address_map import MAX_L2_CHANNELS
from memory.network.credits import credit_known, has_credit, return_credit, take_credit
from memory.network.ideal import (
    ideal_has_bandwidth,
    ideal_leaves,
    ideal_pop_response,
    ideal_receive,
    ideal_response_ready,
    ideal_use_bandwidth,
)
from memory.network.state import (
    CYCLE_MASK,
    CYCLE_SHIFT,
    DELIVERED,
    JOINED,
    KIND_MASK,
    MATCH_WORDS,
    MATCHES,
    MAX_PORTS,
    NUMBER_BITS,
    NUMBER_MASK,
    P_LINE,
    P_MASK,
    P_READY,
    P_SOURCE,
    PORT_WORDS,
    R_READY,
    R_SOURCE,
    RECEIVED,
    SOURCE_CU_SHIFT,
    SOURCE_MASK,
    TAKEN_ONE,
    TAKEN_SHIFT,
    WRITE,
    bit_of,
    destination_of,
    look_for_answer,
    of_bit,
    wake_receiver,
    wake_sender,
    wake_taker,
)
from memory.parts import is_own, is_whole, main_of, record_of
from memory.rings import RING_FRONT
from memory.timeline import SENT, TAKEN, record
from memory.waiting import FILLS, LOOK_UP, REQUEST_SLOT, RESPONSE_SLOT, freed, wait_for
from memory.wheel import WORD_BITS, take_word, wake_at


@jit
def _look_at(m: Machine, port, q, ready):
    """Put the port's packet at `q` among those that channels look at; it may be taken from cycle `ready` on."""
    x = m.xbar
    channel = destination_of(m, port, x.request[port, q, P_LINE])
    x.o_next[port, q] = 0
    if x.o_first[port, channel] == 0:
        x.o_first[port, channel] = q + 1
        x.o_ready[channel, port] = ready
        x.waiting[channel, port >> 6] |= ONE << (port & 63)
        wake_taker(m, ready, channel)
    else:
        x.o_next[port, x.o_last[port, channel] - 1] = q + 1
    x.o_last[port, channel] = q + 1


@jit
def _receive_request_credit(m: Machine, t, port):
    """Give a port the credit of a request that is back in cycle `t`; wake who waits for it."""
    if return_credit(m.xbar.request_credits[port], t) and freed(m, REQUEST_SLOT + port):
        wake_sender(m, t, port)


@jit
def crossbar_has_space(m: Machine, t, port):
    """Return 1 if the port may send a packet in cycle `t`, else 0; then its unit may wait (`wait_for_credit`)."""
    return has_credit(m.xbar.request_credits[port], t)


@jit
def wait_for_credit(m: Machine, port):
    """Have the unit at a port that has no credit be woken in the cycle in which one is back."""
    back = credit_known(m.xbar.request_credits[port])
    if back < 0:
        wait_for(m, REQUEST_SLOT + port, LOOK_UP)
    else:
        wake_sender(m, back, port)


@jit(inline=True)
def crossbar_send(m: Machine, now, port, line, source, mask):
    """Send a request packet; only after `crossbar_has_space`."""
    x = m.xbar
    ready = now + x.request_latency[port]
    take_credit(x.request_credits[port])
    x.requests += 1
    if m.timeline.on:
        record(m, SENT, port, source, line)
    if not x.apart:
        _receive_packet(m, port, ready, line, source, mask)
        return
    out = x.sent[x.sends_in]
    n = out.packets
    out.packets = n + 1
    out.packet[n, P_LINE] = line
    out.packet[n, P_SOURCE] = source
    out.packet[n, P_MASK] = mask
    out.packet[n, P_READY] = ready << NUMBER_BITS | port


@jit(inline=True)
def _receive_packet(m: Machine, port, ready, line, source, mask):
    """Put a request that was sent into its port's queue; it is there from cycle `ready` on."""
    x = m.xbar
    n = x.o_count[port]
    q = x.o_free_slot[port] - 1
    if q < 0:
        q = n  # none was given back: those in use are the first ones
    else:
        x.o_free_slot[port] = x.o_next[port, q]
    x.request[port, q, P_LINE] = line
    x.request[port, q, P_SOURCE] = source
    x.request[port, q, P_MASK] = mask
    x.request[port, q, P_READY] = ready
    x.o_count[port] = n + 1
    if n < x.lookahead:
        _look_at(m, port, q, ready)
        return
    x.o_next[port, q] = 0
    if n == x.lookahead:
        x.o_behind[port] = q + 1
    else:
        x.o_next[port, x.o_youngest[port] - 1] = q + 1
    x.o_youngest[port] = q + 1


@jit
def crossbar_offers(m: Machine, channel):
    """Return a number that is not 0 if the channel sees a packet in a port, there already or on its way."""
    return m.xbar.waiting[channel, 0] | _beyond_first_word(m, channel)


@jit
def _beyond_first_word(m: Machine, channel):
    """Return a number that is not 0 if the channel sees a packet in a port of another word than the first."""
    words = m.xbar.waiting[channel, 1]
    for word in range(2, PORT_WORDS):
        words |= m.xbar.waiting[channel, word]
    return words


@jit(inline=True)
def _may_take(m: Machine, now, channel, port):
    """Return 1 if the port's oldest packet for the channel is there and the port moves no other in this cycle."""
    x = m.xbar
    if x.o_ready[channel, port] > now:  # its wake-up is on the wheel
        return 0
    if x.o_moved[port] == now + 1:
        wake_taker(m, now + 1, channel)
        return 0
    return 1


@jit(outline=True)
def _pick_of_all(m: Machine, now, channel):
    """Pick as `crossbar_pick_request` does, where ports of several words offer one or the bandwidth is a given one."""
    x = m.xbar
    if x.interval and not ideal_has_bandwidth(m, now, channel):
        return -1
    first = x.next_port[channel]
    for step in range(PORT_WORDS + 1):
        word = (first >> 6) + step
        if word >= PORT_WORDS:
            word -= PORT_WORDS
        bits = x.waiting[channel, word]
        if step == 0:
            bits &= -1 << (first & 63)
        elif step == PORT_WORDS:
            bits &= ~(-1 << (first & 63))
        while bits:
            bit = ctz(bits)
            bits ^= ONE << bit
            port = word * 64 + bit
            if _may_take(m, now, channel, port):
                return port
    return -1


@jit(inline=True)
def crossbar_pick_request(m: Machine, now, channel):
    """Return the port from which the channel takes a packet this cycle, round robin, or -1."""
    x = m.xbar
    if _beyond_first_word(m, channel) | x.interval:
        return _pick_of_all(m, now, channel)
    first = x.next_port[channel]
    bits = x.waiting[channel, 0]
    while bits:
        port = ctz_from(bits, first if first < 64 else 0)
        if _may_take(m, now, channel, port):
            return port
        bits ^= ONE << port
    return -1


@jit(inline=True)
def crossbar_pop_request(m: Machine, now, channel, port):
    """Remove the packet found by `crossbar_pick_request`; returns its position, where its fields stay readable."""
    x = m.xbar
    n = x.o_count[port]
    x.o_count[port] = n - 1
    x.next_port[channel] = port + 1 if port + 1 < MAX_PORTS else 0
    back = now + x.response_latency[channel]
    if x.apart:
        out = x.answered[x.answers_in]
        out.credit[out.credits] = back << NUMBER_BITS | port
        out.credits += 1
    else:
        _receive_request_credit(m, back, port)
    if x.ideal:
        ideal_use_bandwidth(m, now, channel)
    else:
        x.o_moved[port] = now + 1
    h = x.o_first[port, channel] - 1
    q = x.o_next[port, h]
    x.o_first[port, channel] = q
    x.o_next[port, h] = x.o_free_slot[port]
    x.o_free_slot[port] = h + 1
    if q == 0:
        x.waiting[channel, port >> 6] &= ~(ONE << (port & 63))
    else:
        ready = max(x.request[port, q - 1, P_READY], now + 1)
        x.o_ready[channel, port] = ready
        wake_taker(m, ready, channel)
    if n > x.lookahead:
        q = x.o_behind[port] - 1
        x.o_behind[port] = x.o_next[port, q]
        _look_at(m, port, q, max(x.request[port, q, P_READY], now + 1))
    return h


@jit(cold=True)
def crossbar_other_half(m: Machine, now, channel, port, h):
    """Tell whether the port's next packet for the channel is there and the other half of the one popped at `h`."""
    x = m.xbar
    q = x.o_first[port, channel] - 1
    if q < 0 or x.request[port, q, P_READY] > now or x.request[port, q, P_LINE] != x.request[port, h, P_LINE] ^ 1:
        return 0
    kind = x.request[port, h, P_SOURCE] & KIND_MASK
    return 1 if kind <= WRITE and x.request[port, q, P_SOURCE] & KIND_MASK == kind else 0


@jit
def crossbar_response_space(m: Machine, now, channel):
    """Return 1 if the channel may start answering, else 0; then it may wait (`wait_for_answer_credit`)."""
    return has_credit(m.xbar.answer_credits[channel], now)


@jit
def wait_for_answer_credit(m: Machine, channel, waiter, unit_class):
    """Have a channel's unit, which has no credit to answer, be woken in the cycle in which one is back.

    Args:
        m: The machine.
        channel: The channel, and the unit's number in its class.
        waiter: FILLS, or the number of the channel, whose oldest request waits.
        unit_class: The unit's class.
    """
    back = credit_known(m.xbar.answer_credits[channel])
    if back < 0:
        wait_for(m, RESPONSE_SLOT + channel, waiter)
    else:
        wake_at(m, unit_class, back, channel)


@jit
def _announce_response(m: Machine, channel, earliest):
    """Tell the port that the channel's oldest response is for it; it may be taken from cycle `earliest` on."""
    x = m.xbar
    h = x.r_head[channel]
    port = (x.response[channel, h, R_SOURCE] >> SOURCE_CU_SHIFT) & NUMBER_MASK
    ready = max(x.response[channel, h, R_READY], earliest)
    x.r_ready[channel] = ready
    x.returning[port] |= 1 << bit_of(channel)
    look_for_answer(m, ready, port)


@jit(cold=True)
def _leaves_with_last(m: Machine, t, channel, source):
    """Tell whether an answer leaves in one cycle with the channel's youngest: for the same port, and as yet alone."""
    last = m.xbar.r_youngest[channel]
    return t < m.xbar.r_free[channel] and not last & JOINED and (last ^ source) >> SOURCE_CU_SHIFT & NUMBER_MASK == 0


@jit
def crossbar_respond(m: Machine, now, t, channel, source):
    """Send an answer that leaves the channel at `t` or when its port is free; returns the cycle it leaves."""
    x = m.xbar
    take_credit(x.answer_credits[channel])
    joined = source & JOINED
    if joined:
        source ^= JOINED
        joined = JOINED if _leaves_with_last(m, t, channel, source) else 0
    if joined:
        leaves = x.r_free[channel] - 1
        source |= JOINED
    elif x.ideal:
        leaves = ideal_leaves(m, t, channel)
    else:
        leaves = max(t, x.r_free[channel])
        x.r_free[channel] = leaves + 1
    x.r_youngest[channel] = source
    _receive_answer(m, channel, leaves + x.response_latency[channel], source)
    return leaves


@jit(inline=True)
def _receive_answer(m: Machine, channel, ready, source):
    """Put an answer that was sent behind those of its channel; it is there from cycle `ready` on."""
    x = m.xbar
    n = x.r_count[channel]
    x.r_count[channel] = n + 1
    if x.ideal:
        ideal_receive(m, channel, source, ready)
        return
    q = (x.r_head[channel] + n) & (x.response_ring - 1)
    x.response[channel, q, R_SOURCE] = source
    x.response[channel, q, R_READY] = ready
    if n == 0:
        _announce_response(m, channel, ready)


@jit
def _receive_answer_credit(m: Machine, t, channel):
    """Give a channel the credit of an answer that is back in cycle `t`; wake who waits for it."""
    if not return_credit(m.xbar.answer_credits[channel], t):
        return
    waiters = freed(m, RESPONSE_SLOT + channel)
    if waiters:
        at = m.xbar.destination[channel]
        if (waiters >> FILLS) & 1:
            wake_at(m, at.fills, t, at.unit)
        if waiters & ~(ONE << FILLS):
            wake_at(m, at.serves, t, at.unit)


@jit(outline=True)
def take_sent(m: Machine, number):
    """Empty an outbox of the caches: its requests are queued where channels look.

    From now on channels put what crosses into their outbox of this number.
    """
    x = m.xbar
    x.answers_in = number
    for part in range(1 + m.parts.others):
        out = record_of(m, part).xbar.sent[number]
        for n in range(out.packets):
            ready, port = out.packet[n, P_READY] >> NUMBER_BITS, out.packet[n, P_READY] & NUMBER_MASK
            _receive_packet(m, port, ready, out.packet[n, P_LINE], out.packet[n, P_SOURCE], out.packet[n, P_MASK])
        out.packets = 0
    if m.parts.others:
        x.answered[number].answers = 0
        x.answered[number].credits = 0


@jit(outline=True)
def take_answered(m: Machine, number):
    """Empty an outbox of the channels: its answers are queued where ports look, its credits are the ports'.

    Of a machine with parts each record takes what is its ports'; the outbox is emptied as channels come to it again.
    From now on caches put what crosses into their outbox of this number.
    """
    x = m.xbar
    x.sends_in = number
    out = main_of(m).xbar.answered[number]
    x.matched = max(x.matched, out.until)
    for n in range(out.answers):
        at, port = out.answer[n, R_READY] >> NUMBER_BITS, out.answer[n, R_READY] & NUMBER_MASK
        if not is_own(m, port):
            continue
        held = x.delivered_count[port]
        q = (x.delivered_head[port] + held) & (DELIVERED - 1)
        x.delivered[port, q] = out.answer[n, R_SOURCE] | (at & CYCLE_MASK) << CYCLE_SHIFT
        x.delivered_count[port] = held + 1
        wake_receiver(m, at, port)
    for n in range(out.credits):
        back, port = out.credit[n] >> NUMBER_BITS, out.credit[n] & NUMBER_MASK
        if is_own(m, port):
            _receive_request_credit(m, back, port)
    if is_whole(m):
        out.answers = 0
        out.credits = 0


@jit(inline=True)
def _pop_response(m: Machine, now, port, channel):
    """Remove the channel's oldest response, which is for the port; returns its source."""
    x = m.xbar
    n = x.r_count[channel]
    x.r_count[channel] = n - 1
    bit = bit_of(channel)
    x.next_channel[port] = bit + 1 if bit + 1 < MAX_L2_CHANNELS else 0
    _receive_answer_credit(m, now + x.request_latency[port], channel)
    if x.ideal:
        return ideal_pop_response(m, now, channel, port)
    h = x.r_head[channel]
    x.returning[port] &= ~(1 << bit)
    q = (h + 1) & (x.response_ring - 1)
    if n > 1 and x.response[channel, q, R_SOURCE] & JOINED:
        _receive(m, channel, port, x.response[channel, h, R_SOURCE])
        h = q
        n -= 1
        x.r_count[channel] = n - 1
        _receive_answer_credit(m, now + x.request_latency[port], channel)
        q = (q + 1) & (x.response_ring - 1)
    x.r_head[channel] = 0 if n == 1 and q >= RING_FRONT else q
    if n > 1:
        _announce_response(m, channel, now + 1)
    return x.response[channel, h, R_SOURCE]


@jit(cold=True)
def _receive(m: Machine, channel, port, source):
    """Put an answer of a channel into the port's queue."""
    x = m.xbar
    if m.timeline.on:
        record(m, TAKEN, port | channel << 8, source & ~JOINED, 0)
    x.received[port, (x.received_head[port] + x.received_count[port]) & (RECEIVED - 1)] = source & ~JOINED
    x.received_count[port] += 1


@jit(outline=True)
def _take_from_queue(m: Machine, now, port):
    """Let channels fill the port's queue, and take its oldest answer; returns as `_take_answer`."""
    x = m.xbar
    before = x.received_count[port]
    bits = x.returning[port]
    first = x.next_channel[port]
    while bits and x.received_count[port] <= RECEIVED - 2:
        bit = ctz_from(bits, first)
        bits ^= 1 << bit
        channel = of_bit(m, port, bit)
        if x.r_ready[channel] <= now:
            _receive(m, channel, port, _pop_response(m, now, port, channel))
    count = x.received_count[port]
    if count == 0:
        return -1
    source = x.received[port, x.received_head[port]]
    x.received_head[port] = (x.received_head[port] + 1) & (RECEIVED - 1)
    x.received_count[port] = count - 1
    if count > 1 or bits:
        look_for_answer(m, now + 1, port)
    return source | (count - before) << TAKEN_SHIFT


@jit
def _is_there(m: Machine, now, port, channel):
    """Tell whether the channel's oldest response for the port is there."""
    x = m.xbar
    return ideal_response_ready(m, now, channel, port) != 0 if x.ideal else x.r_ready[channel] <= now


@jit(inline=True)
def _take_answer(m: Machine, now, port):
    """Take the port's answer of this cycle from channels, round robin.

    Returns its source and, from TAKEN_SHIFT on, how many answers came to the port in this cycle; -1 if there is none.
    """
    x = m.xbar
    if x.joins:
        return _take_from_queue(m, now, port)
    bits = x.returning[port]
    first = x.next_channel[port]
    taken = -1
    while bits and taken < 0:
        bit = ctz_from(bits, first)
        bits ^= 1 << bit
        channel = of_bit(m, port, bit)
        if _is_there(m, now, port, channel):
            taken = channel
    if taken < 0:
        return -1
    while bits:  # in any order: whether another one is there
        if _is_there(m, now, port, of_bit(m, port, ctz(bits))):
            look_for_answer(m, now + 1, port)
            break
        bits &= bits - 1
    source = _pop_response(m, now, port, taken)
    if m.timeline.on:
        record(m, TAKEN, port | taken << 8, source, 0)
    return source | TAKEN_ONE


@jit(outline=True)
def match_answers(m: Machine, end):
    """Find which answers ports take up to cycle `end`, all of which are on the way, and send them with their cycles."""
    x = m.xbar
    out = x.answered[x.answers_in]
    n = out.answers
    for now in range(x.matching, end):
        for word in range(MATCH_WORDS):
            ports = take_word(m, now, MATCHES + word)
            while ports:
                port = word * WORD_BITS + ctz(ports)
                ports &= ports - 1
                taken = _take_answer(m, now, port)
                if taken >= 0:
                    out.answer[n, R_SOURCE] = taken
                    out.answer[n, R_READY] = now << NUMBER_BITS | port
                    n += 1
    out.answers = n
    x.matching = max(x.matching, end)
    out.until = x.matching


@jit(outline=True)
def _take_delivered(m: Machine, now, port):
    """Take the answer that was matched with the port for this cycle; returns as `_take_answer`."""
    x = m.xbar
    n = x.delivered_count[port]
    h = x.delivered_head[port]
    taken = x.delivered[port, h]
    if n == 0 or taken >> CYCLE_SHIFT != now & CYCLE_MASK:
        return -1
    x.delivered_count[port] = n - 1
    x.delivered_head[port] = 0 if n == 1 else (h + 1) & (DELIVERED - 1)
    return taken & (1 << CYCLE_SHIFT) - 1


@jit(inline=True)
def crossbar_take_response(m: Machine, now, port):
    """Take the port's response of this cycle; returns its source, or -1."""
    taken = _take_delivered(m, now, port) if now < m.xbar.matched else _take_answer(m, now, port)
    if taken < 0:
        return -1
    m.xbar.responses += taken >> TAKEN_SHIFT
    return taken & SOURCE_MASK


@jit
def take_all_answered(m: Machine, number):
    """Empty an outbox of the channels for all ports."""
    take_answered(m, number)
    for part in range(1, 1 + m.parts.others):
        take_answered(record_of(m, part), number)
    if m.parts.others:
        m.xbar.answered[number].answers = 0
        m.xbar.answered[number].credits = 0


@jit
def let_cross(m: Machine, now, through_outboxes):
    """Have what crosses from cycle `now` on wait in outboxes (1), or arrive in its queue at once (0).

    With outboxes, answers are matched with ports at the channels' end (`match_answers`), else as a port looks for one.
    """
    x = m.xbar
    x.apart = through_outboxes
    if through_outboxes:
        x.matching = max(now, x.matched)
    first = max(now, x.matched)
    for port in range(MAX_PORTS):
        if x.received_count[port]:
            look_for_answer(m, first, port)
        bits = x.returning[port]
        while bits:
            channel = of_bit(m, port, ctz(bits))
            bits &= bits - 1
            look_for_answer(m, first if x.ideal else max(first, x.r_ready[channel]), port)
