"""The compute units: dispatch, wavefronts, fetch, issue, LDS, and the interlocks between instructions.

`state` says what a CU holds and how wavefront slots are numbered. `dispatch` places workgroups, `wave` takes a
wavefront through its trace and accounts for its cycles, `fetch` fills its instruction buffer, `issue` picks whose
instruction goes to which unit. `code_table` and `interlocks` are made once for each kernel.
"""
