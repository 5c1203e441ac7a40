"""The compute units: dispatch, wavefronts, fetch, issue, LDS, and the interlocks between instructions.

`state` says what a CU holds and how wavefront slots are numbered. `dispatch` places workgroups, `wave` takes a
wavefront through its trace and accounts for its cycles, `fetch` fills its instruction buffer, `issue` picks whose
instruction goes to which unit. `code_table` and `interlocks` are made once for each kernel.

Why so: a wavefront's trace is made a slice ahead by the functional part, so issue decides by words that are at hand
(decision 1). A stored trace was refused: it is as large as the run is long, and cannot wait for what timing decides.
"""
