"""Microbenchmarks: the model's latencies, bandwidths and rates, measured by machine code and set beside published ones.

`job` has their groups and runs them; `references` holds what is published of GCN parts.

Why so: machine code is assembled for each latency and rate, since a compiler would move what is to be timed. Published
values stand beside it, each with the part that it is of.
"""
