// A kernel that calls a library's functions. test_line_table.py names lines of this file: do not move them.
#include <library.h>

static inline void count(global int *counts, uint i) {
    library_add(counts + 1 + i, 2);
}

kernel void calls(global int *counts) {
    uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    library_add(counts, 3);
    count(counts, i);
}
