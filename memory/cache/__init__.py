"""The caches: vector L1, scalar and instruction cache of a shader array, L2.

`l1` has the queue of vector memory instructions in front of it and the return path behind; `l2` is interleaved over
channels, merges misses in MSHRs, and executes atomics. `write_policy` says where a store's bytes go in either. Which
lines a cache holds is `memory/sets`.
"""
