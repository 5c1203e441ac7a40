"""The Spartan compaction engine (Dong 2020, chapter 6): it sits between L2 and DRAM and sends compacted lines.

In reading order: `format` (ELLPACK-DIB, what a compacted line is), `sib` (one entry a column of metadata, sparsity
bitmask and mapping window), `search` (which sparse lines a lane reads next), `compaction` (units of 16 lanes that make
bundles), `prefetch_buffer` (finished lines in column order), `response` (answers to L2, each compared with the packed
matrix), `write_phase` and `written` (where the matrix is compacted when it is written back: the writing, and requests),
`engine` (all of these as one unit of the wake-up wheel). `counters` is the table of what it counts.

Why so: each structure of the source is a file with its reading where the source is silent, and each answer is compared
with the packed matrix, so that a wrong search cannot pass as a fast one.
"""
