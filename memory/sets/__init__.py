"""Sets of lines or pages: what every cache and TLB searches, and by which policy it replaces what it holds.

`rows` is the layout of a set and its search; `replacement` says which way of a full set makes space.

Why so: one layout of a set serves caches and TLBs, so that a policy is written and tested once.
"""
