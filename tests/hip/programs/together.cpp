// A program that runs beside another one like it: together CODE_OBJECT NUMBER. It fills device memory with its NUMBER,
// has kernels count what is there, and looks at both; before each step it says so and waits for a line, so that another
// program can do the step before it in between. Code 1: found what it has not written.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {
constexpr unsigned N = 4096, BINS = 64, LAUNCHES = 5;

template <typename... Arguments>
void hip(const char* name, Arguments... arguments) {
  static void* library = dlopen("libamdhip64.so.5", RTLD_NOW);
  auto function = library ? reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name)) : nullptr;
  int status = function ? function(arguments...) : -1;
  if (status) {
    fprintf(stderr, "%s: status %d\n", name, status);
    exit(2);
  }
}

void step(const char* name, const void* at) {
  printf("%s %p\n", name, at);
  fflush(stdout);
  if (getchar() != '\n') exit(3);
}
}  // namespace

int main(int, char** words) {
  unsigned number = atoi(words[2]), n = N;
  void *module, *function;
  unsigned *keys, *bins;
  hip("hipModuleLoad", &module, static_cast<const char*>(words[1]));
  hip("hipModuleGetFunction", &function, module, "_Z9histogramPKjPjj");
  hip("hipMalloc", reinterpret_cast<void**>(&keys), N * sizeof *keys);
  hip("hipMalloc", reinterpret_cast<void**>(&bins), BINS * sizeof *bins);
  step("allocated", keys);
  std::vector<unsigned> filled(N, number), none(BINS);
  hip("hipMemcpy", static_cast<void*>(keys), static_cast<const void*>(filled.data()), N * sizeof *keys, 1);
  hip("hipMemcpy", static_cast<void*>(bins), static_cast<const void*>(none.data()), BINS * sizeof *bins, 1);
  step("filled", keys);
  void* values[] = {&keys, &bins, &n};
  for (unsigned i = 0; i < LAUNCHES; i++)
    hip("hipModuleLaunchKernel", function, N / 256, 1u, 1u, 256u, 1u, 1u, unsigned(BINS * sizeof(unsigned)),
        static_cast<void*>(nullptr), values, static_cast<void**>(nullptr));
  hip("hipDeviceSynchronize");
  step("counted", keys);
  std::vector<unsigned> counted(BINS);
  hip("hipMemcpy", static_cast<void*>(counted.data()), static_cast<const void*>(bins), BINS * sizeof *bins, 2);
  hip("hipMemcpy", static_cast<void*>(filled.data()), static_cast<const void*>(keys), N * sizeof *keys, 2);
  for (unsigned i = 0; i < BINS; i++)
    if (counted[i] != (i == number ? LAUNCHES * N : 0)) {
      printf("%u times %u, the other program's or too few\n", counted[i], i);
      return 1;
    }
  for (unsigned key : filled)
    if (key != number) return 1;
  return 0;
}
