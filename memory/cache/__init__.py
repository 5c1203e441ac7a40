"""The caches: vector L1, scalar and instruction cache of a shader array, L2.

`sets` and `fields` are what they share. `l1` has the queue of vector memory instructions in front of it and the return
path behind; `l2` is interleaved over channels, merges misses in MSHRs, writes back, and executes atomics.
"""
