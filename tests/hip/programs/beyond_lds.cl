// Stores, loads and adds at x[first] to x[first + 63] of an array of 128 dwords, which is all LDS that the workgroup has.
__attribute__((reqd_work_group_size(64, 1, 1))) kernel void beyond_lds(global int *out, int first) {
  local volatile int x[128];
  int l = __builtin_amdgcn_workitem_id_x();
  x[l] = l;
  x[l + 64] = l + 64;
  out[l] = x[first + l];
  x[first + l] = 1000 + l;
  out[l + 64] = x[first + l];
  out[l + 128] = __atomic_fetch_add(&x[first + l], 1, __ATOMIC_RELAXED);
  out[l + 192] = x[l + 64];
  local int *two = (local int *)&x[first + l];
  out[l + 256] = two[0] ^ two[1];  // one instruction
  volatile int *any = first < 1000 ? (volatile int *)&x[first + l] : out;  // flat instructions
  out[l + 320] = *any;
  *any = 7;
  out[l + 384] = x[l + 64];
}
