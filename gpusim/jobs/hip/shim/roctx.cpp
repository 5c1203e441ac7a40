// ROCm's annotations of a program (libroctx64.so.1, interface 4.1) as they are without a profiler: nothing is recorded,
// ranges have their levels and numbers all the same.
#include <atomic>
#include <cstdint>

#define API extern "C" __attribute__((visibility("default")))

static thread_local int level;  // of the ranges that the thread has pushed
static std::atomic<uint64_t> last_range{0};

API uint32_t roctx_version_major() { return 4; }
API uint32_t roctx_version_minor() { return 1; }
API void roctxMarkA(const char*) {}
API int roctxRangePushA(const char*) { return level++; }
API int roctxRangePop() { return level ? --level : -1; }
API uint64_t roctxRangeStartA(const char*) { return ++last_range; }
API void roctxRangeStop(uint64_t) {}
