// The files of the GPU's kernel driver (/sys/class/kfd) as a program sees them that counts cards there before it uses
// HIP: those below the folder that GPUSIM_DRIVER names. Loaded before the C library, whose functions by which programs
// look at files are taken over for these paths alone.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "generated.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {
constexpr char DRIVER[] = "/sys/class/kfd";

// The path of the file that takes the place of `path`; `path` itself but for the driver's.
struct Place {
  std::string text;
  const char* path;
  explicit Place(const char* asked) : path(asked) {
    const char* folder = getenv(GPUSIM_DRIVER);
    if (!folder || !asked || strncmp(asked, DRIVER, sizeof DRIVER - 1)) return;
    text = std::string(folder) + asked;
    path = text.c_str();
  }
};

int opened(const char* path, int flags, va_list arguments) {
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  return openat(AT_FDCWD, Place(path).path, flags, mode);
}
}  // namespace

API int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int file = opened(path, flags, arguments);
  va_end(arguments);
  return file;
}
API int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int file = opened(path, flags, arguments);
  va_end(arguments);
  return file;
}
API int stat(const char* path, struct stat* found) noexcept { return fstatat(AT_FDCWD, Place(path).path, found, 0); }
API int stat64(const char* path, struct stat64* found) noexcept { return fstatat64(AT_FDCWD, Place(path).path, found, 0); }
API FILE* fopen(const char* path, const char* mode) {
  static auto original = reinterpret_cast<FILE* (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "fopen"));
  return original(Place(path).path, mode);
}
API FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }
API DIR* opendir(const char* path) {
  static auto original = reinterpret_cast<DIR* (*)(const char*)>(dlsym(RTLD_NEXT, "opendir"));
  return original(Place(path).path);
}
