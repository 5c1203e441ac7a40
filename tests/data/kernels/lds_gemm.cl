// C = A * B, column-major, square tiles of 16 x 16 through LDS; sizes are multiples of 16
#define TILE 16
__attribute__((reqd_work_group_size(TILE, TILE, 1)))
kernel void lds_gemm(global const float *a, global const float *b, global float *c, uint m, uint n, uint k)
{
    local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    uint x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
    uint row = __builtin_amdgcn_workgroup_id_x() * TILE + x, column = __builtin_amdgcn_workgroup_id_y() * TILE + y;
    float sum = 0;
    for (uint t = 0; t < k; t += TILE) {
        tile_a[y][x] = a[row + (t + y) * m];
        tile_b[y][x] = b[t + x + column * k];
        __builtin_amdgcn_s_barrier();
        for (uint i = 0; i < TILE; i++)
            sum += tile_a[i][x] * tile_b[y][i];
        __builtin_amdgcn_s_barrier();
    }
    c[row + column * m] = sum;
}
