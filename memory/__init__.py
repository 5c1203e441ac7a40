"""The memory system below the compute units: caches, networks, translation, DRAM, and how its units talk.

Here at the top lies what all of them share: `wheel` (who runs in which cycle), `ports` (the queues between L2, the
compaction engine and DRAM), `address_map` (which channel a line belongs to), `timeline` (what units write down of each
request). A load's way down: `memory.cache` (L1) → `memory.translation` → `memory.network` → `memory.cache` (L2) →
`memory.dram`. Every unit is free functions over the machine record `m`, its state a table of documented fields.

Why so: units are free functions over one record, as compiled code needs (decision 2); they meet in ports alone, so a
cache can be tested without DRAM.
"""
