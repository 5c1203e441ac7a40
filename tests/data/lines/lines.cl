// Kernels with line tables. test_line_table.py and test_source_lines.py name lines of this file: do not move them.
#include "scale.h"

kernel void scale(global const float *a, global float *c) {
    uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    float x = a[i];
    c[i] = scaled(x);
}

// The fourth wavefront of a work-group runs forever, the others wait for it at the barrier.
kernel void waits(global volatile int *flag) {
    uint i = __builtin_amdgcn_workitem_id_x();
    if (__builtin_amdgcn_readfirstlane(i) >= 192)
        while (flag[0] == 0)
            flag[1] = 1;
    __builtin_amdgcn_s_barrier();
    flag[2] = 2;
}
