// target = source + 3 other, in FP64, as a stream (streams.s) with u32 apart as a further argument: the other source lies so
// many bytes behind the source. A file of its own: DRAM's share moves by some points with where code lies.
    .include "kernel.inc"
    .include "stream.inc"

.macro triad_pair first, second
    buffer_load_dwordx4 v[4:7], v0, s[20:23], s\first offen
    buffer_load_dwordx4 v[8:11], v0, s[28:31], s\first offen
    buffer_load_dwordx4 v[12:15], v0, s[20:23], s\second offen
    buffer_load_dwordx4 v[16:19], v0, s[28:31], s\second offen
    s_waitcnt vmcnt(0)
    .irp at, 4, 6, 12, 14
    v_fma_f64 v[\at:\at + 1], v[\at + 4:\at + 5], s[32:33], v[\at:\at + 1]
    .endr
    buffer_store_dwordx4 v[4:7], v0, s[24:27], s\first offen
    buffer_store_dwordx4 v[12:15], v0, s[24:27], s\second offen
.endm
.macro body_triad
    triad_pair 16, 17
    triad_pair 18, 19
.endm

    stream triad, 4, 2
