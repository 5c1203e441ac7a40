"""What each VALU and SALU instruction computes, one function an instruction (GCN3 ISA manual, chapter 12).

A function is written once, on abstract lanes (`isa.lanes.values`), and entered in the table under its mnemonic by
`vop` or `sop` (`isa.lanes.table`), with the types of its operands. Files go by type of number: `scalar` (SALU),
`integer32`, `integer16`, `bytes`, `float32`, `float16`, `float64`, `transcendental`, `divide`, `convert`, `compare`,
`cube`; `rows` holds the helpers that the interpreter puts around them. All files of the folder are read: a new one
needs no entry anywhere.

Why so: an instruction's meaning is one function with two back ends, LLVM and NumPy. One text cannot disagree with
itself; a test compares it with a second statement of the manual (tests/support/oracle_isa).
"""
