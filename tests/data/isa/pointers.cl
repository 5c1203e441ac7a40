// A table of pointers: its entries are relocated when the object is loaded.

__constant int low[2] = {1, 2};
__constant int high[2] = {3, 4};
__constant const __constant int *const rows[2] = {low, high};

__kernel void pick(__global int *out, int row) { out[0] = rows[row][1]; }
