"""The crossbar between the first-level caches and the L2 channels.

`state` has the words of a packet and the configuration, `crossbar` the arbitrated form, `ideal` one without contention.
"""
