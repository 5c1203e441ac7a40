"""The caches: vector L1, scalar and instruction cache of a shader array, L2.

`l1` has the queue of vector memory instructions in front of it and the return path behind; `l2` is interleaved over
channels, merges misses in MSHRs, and executes atomics. `write_policy` says where a store's bytes go in either. Which
lines a cache holds is `memory/sets`.

Why so: MSHRs, targets and fills are one library for all caches, and a level between L1 and L2 is a row of a table, so
that a new level is added in three places.
"""
