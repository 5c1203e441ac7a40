// C = A.B with B compacted on the fly (ELLPACK-DIB through sparse loads) and A in vector registers: see dib_registers.inc.
.set CONVERTED, 0
.include "dib_registers.inc"
kernel sgemm_dib_registers, 84, 64
