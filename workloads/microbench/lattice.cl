/* A step of a D3Q19 lattice Boltzmann fluid, FP32, streamed in place: of two opposite directions a cell reads the one at its
   own place and the other at the neighbour's, and each takes the other's place after the collision (BGK). A work-item: a
   cell of planes of 256 x 256, periodic. Cells whose flag is set are solid. */

#define SIDE 256u
#define PAIRS 9

/* the first of each pair of directions */
constant const int DIRECTIONS[PAIRS][3] = {{1, 0, 0}, {0, 1, 0},  {0, 0, 1},  {1, 1, 0}, {1, 0, 1},
                                           {0, 1, 1}, {1, -1, 0}, {1, 0, -1}, {0, 1, -1}};

/* of density 1: the part of a direction, less what it is at rest, is what an array holds */
static inline float equilibrium(float weight, float density, float along, float square) {
  return weight * (density * (1.0f + 3.0f * along + 4.5f * along * along - 1.5f * square) - 1.0f);
}

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void step_cells(global float *parts, global const uchar *flags,
                                                                       ulong apart, uint planes, float rate) {
  const uint cell = __builtin_amdgcn_workgroup_id_x() * 64u + __builtin_amdgcn_workitem_id_x();
  if (flags[cell]) return;
  const uint x = cell % SIDE, y = cell / SIDE % SIDE, z = cell / (SIDE * SIDE);
  float own[PAIRS], other[PAIRS];
  uint beside[PAIRS];
  float rest = parts[cell], density = 1.0f + rest, flow[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int k = 0; k < PAIRS; ++k) {
    const uint to_x = (x + SIDE + DIRECTIONS[k][0]) % SIDE, to_y = (y + SIDE + DIRECTIONS[k][1]) % SIDE;
    const uint to_z = DIRECTIONS[k][2] > 0 ? (z + 1u == planes ? 0u : z + 1u)
                                           : DIRECTIONS[k][2] < 0 ? (z ? z - 1u : planes - 1u) : z;
    beside[k] = (to_z * SIDE + to_y) * SIDE + to_x;
    own[k] = parts[(2 * k + 1) * apart + cell];
    other[k] = parts[(2 * k + 2) * apart + beside[k]];
    density += own[k] + other[k];
    for (int axis = 0; axis < 3; ++axis) flow[axis] += DIRECTIONS[k][axis] * (own[k] - other[k]);
  }
  float square = 0.0f;
  for (int axis = 0; axis < 3; ++axis) {
    flow[axis] /= density;
    square += flow[axis] * flow[axis];
  }
  parts[cell] = rest + rate * (equilibrium(1.0f / 3.0f, density, 0.0f, square) - rest);
#pragma unroll
  for (int k = 0; k < PAIRS; ++k) {
    const float weight = k < 3 ? 1.0f / 18.0f : 1.0f / 36.0f;
    float along = 0.0f;
    for (int axis = 0; axis < 3; ++axis) along += DIRECTIONS[k][axis] * flow[axis];
    parts[(2 * k + 2) * apart + beside[k]] = own[k] + rate * (equilibrium(weight, density, along, square) - own[k]);
    parts[(2 * k + 1) * apart + cell] = other[k] + rate * (equilibrium(weight, density, -along, square) - other[k]);
  }
}
