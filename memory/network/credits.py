"""Credits: how a sender knows that the receiver has a slot for another packet, without looking at the receiver.

The slots are the receiver's; the sender has as many credits. A packet takes one along. When the receiver takes the
packet out of its slot, the credit goes back over the network and can be used from the cycle in which it arrives. So in
every cycle: credits at the sender + packets in slots or on their way to them + credits on their way back = `limit`.

Credits are numbered in the order in which packets are taken, and used in that order. A packet may be sent without one
(answers of a fill: `next` runs ahead); it is paid for by credits that come back.
"""

from typing import TYPE_CHECKING, Any

from gpusim.base.jit import Field, State, jit, record_type

MAX_CREDITS = 1024  # a power of two
NOT_KNOWN = 1 << 60

CREDITS = State(
    "credits",
    {
        "next": Field((), "number of the credit that the next packet takes along, -limit at first"),
        "at": Field((), "cycle in which it is back, NOT_KNOWN until its packet has been taken"),
        "taken": Field((), "packets that the receiver has taken"),
        "limit": Field((), "the receiver's slots"),
        "ring": Field((), "entries of `back` in use less one: a power of two less one"),
        "back": Field((MAX_CREDITS,), "cycle from which a credit is back at the sender, by its number"),
    },
)

if TYPE_CHECKING:
    Credits = Any
else:
    Credits = record_type(CREDITS)


def power_of_two(least: int) -> int:
    """Return the smallest power of two that is not below a number."""
    return 1 << (least - 1).bit_length()


def configure_credits(credits: Any, limit: int) -> None:
    """Give all credits of an array of records to their senders. limit: slots of each receiver."""
    credits["limit"], credits["next"], credits["taken"] = limit, -limit, 0
    credits["ring"] = power_of_two(limit) - 1


@jit
def has_credit(credits: Credits, t):
    """Return 1 if the sender has a credit in cycle `t`, as far as is known, else 0."""
    return 1 if credits.at <= t else 0


@jit
def credit_known(credits: Credits):
    """Return the cycle in which the next credit is back, or -1 if its packet has not been taken yet."""
    return credits.at if credits.at < NOT_KNOWN else -1


@jit
def take_credit(credits: Credits):
    """Have a packet take the next credit along."""
    n = credits.next + 1
    credits.next = n
    credits.at = credits.back[n & credits.ring] if n < credits.taken else NOT_KNOWN


@jit
def return_credit(credits: Credits, t):
    """Send the credit of a packet that is taken back, to arrive in cycle `t`; returns 1 if it is the sender's next."""
    n = credits.taken
    credits.back[n & credits.ring] = t
    credits.taken = n + 1
    if n != credits.next:
        return 0
    credits.at = t
    return 1


def credits_where(credits: Any, now: int) -> tuple[int, int, int]:
    """Return (at the sender, with packets, on their way back) of a record of credits in a cycle.

    What was sent without a credit counts among the packets, and as missing at the sender.
    """
    first, taken, ring = int(credits["next"]), int(credits["taken"]), int(credits["ring"])
    back = sum(int(credits["back"][n & ring]) > now for n in range(first, taken))
    return taken - first - back, first + int(credits["limit"]) - taken, back
