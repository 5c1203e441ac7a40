"""The crossbar between the first-level caches and the L2 channels.

`state` has the words of a packet and the configuration, `crossbar` the arbitrated form, `ideal` one without contention.

Why so: ports and credits are arbitrated by packet, as products depend on who waits for whom (decisions 13 and 16). A
fixed latency is there as `ideal`, for comparison alone.
"""
