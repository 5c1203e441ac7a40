// Sleepers: a wavefront that keeps its registers, its LDS and its slot for some 8,000 cycles and does nothing else.
    .include "kernel.inc"

.macro sleeper name, vgprs
    begin_kernel \name
    s_sleep 127
    s_endpgm
    end_kernel \name, 16, \vgprs
.endm

    .irp n, 24, 28, 32, 36, 40, 48, 64, 84, 128, 256
    sleeper sleep_\n, \n
    .endr
