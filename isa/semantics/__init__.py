"""What each VALU and SALU instruction computes, one function an instruction (GCN3 ISA manual, chapter 12)."""
