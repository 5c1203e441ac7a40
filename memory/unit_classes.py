"""Written by `tests.support.write_units` from the table in `units` beside it: change that, not this.

Classes of timed units in the wake-up wheel, on either side of the crossbar in the order in which they run within a
cycle, and what is attached to the crossbar.
"""

TRANSLATION = 0  # L2 TLB and page walkers
CU_RESPONSE = 1  # a CU's vector L1: an answer from the crossbar
CU_RETURN = 5  # finished loads, stores, LDS accesses
CU_LOOK_UP = 9  # the vector L1's look-up
SCALAR = 13  # scalar caches, one a shader array
FETCH = 15  # instruction fetch, one a shader array
CU_ISSUE = 17  # a CU's visit to one of its SIMDs
DISPATCH = 21  # the dispatcher

# beyond the crossbar
FIRST_BEYOND = 32
L2_FILL = 32  # an L2 channel: lines from DRAM and the engine
L2_SERVE = 33  # its oldest waiting request
L2_TAKE = 34  # a request from the crossbar
ENGINE = 35  # the compaction engine
DRAM = 36  # channels

CLASSES = {
    "TRANSLATION": TRANSLATION,
    "CU_RESPONSE": CU_RESPONSE,
    "CU_RETURN": CU_RETURN,
    "CU_LOOK_UP": CU_LOOK_UP,
    "SCALAR": SCALAR,
    "FETCH": FETCH,
    "CU_ISSUE": CU_ISSUE,
    "DISPATCH": DISPATCH,
    "L2_FILL": L2_FILL,
    "L2_SERVE": L2_SERVE,
    "L2_TAKE": L2_TAKE,
    "ENGINE": ENGINE,
    "DRAM": DRAM,
}

MOST_UNITS = {
    "TRANSLATION": 1,
    "CU_RESPONSE": 128,
    "CU_RETURN": 128,
    "CU_LOOK_UP": 128,
    "SCALAR": 64,
    "FETCH": 64,
    "CU_ISSUE": 128,
    "DISPATCH": 1,
    "L2_FILL": 32,
    "L2_SERVE": 32,
    "L2_TAKE": 32,
    "ENGINE": 1,
    "DRAM": 32,
}

# caches that send requests: first port, ports, class that takes answers, class that sends
PORTS = {
    "l1": (0, 128, CU_RESPONSE, CU_LOOK_UP),
    "scalar_cache": (128, 64, SCALAR, SCALAR),
}

# caches that take requests: first destination, destinations, class that takes them, that serves them, that fills lines
DESTINATIONS = {
    "l2": (0, 32, L2_TAKE, L2_SERVE, L2_FILL),
}
