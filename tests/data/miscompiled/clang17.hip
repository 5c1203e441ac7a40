#define GLOBAL __attribute__((global))
#define DEVICE __attribute__((device))
extern "C" GLOBAL void clamp(unsigned *p) { unsigned x = p[__builtin_amdgcn_workitem_id_x()]; p[__builtin_amdgcn_workitem_id_x()] = x < 128u ? 0u : x - 128u; }
extern "C" GLOBAL void clampi(unsigned *p) { unsigned x = p[__builtin_amdgcn_workitem_id_x()]; p[__builtin_amdgcn_workitem_id_x()] = x < 8u ? 0u : x - 8u; }
extern "C" GLOBAL void spill(int *p, int n) { int i = __builtin_amdgcn_workitem_id_x(); int a = p[i], b = i * 3; if (a < n) { b = a + p[i + 1]; if (b > 7) b *= a; } p[i] = a + b; }
