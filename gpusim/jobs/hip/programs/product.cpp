// C = A·B by a library of the user's: product sgemm|gemmi|csrmm M N K LDA LDB LDC FILE_A FILE_B [TRANSPOSES ADD].
// The files hold the matrices as they are stored, column-major; "=BYTES" in place of a file: so many, whatever they are.
// C stays on the device. sgemm: rocBLAS's, of A and B or, where TRANSPOSES has a t in its place, the transpose; with ADD
// 1 it is added to C. gemmi, csrmm:
// rocSPARSE's dense matrix times sparse one, and sparse matrix times dense one, which computes the transpose of C, stored
// without a gap; B is converted by rocSPARSE first. Libraries are opened by name, so that this is built without their
// headers. Code 4: a library is not there.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {
constexpr int NONE = 111, TRANSPOSE = 112, COLUMNS = 1, TO_DEVICE = 1;  // rocblas-types.h, rocsparse-types.h, hip

void* open_library(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(4);
  }
  return library;
}

template <typename... Arguments>
void call(void* library, const char* name, Arguments... arguments) {
  auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  int status = function ? function(arguments...) : -1;
  if (status) {
    fprintf(stderr, "%s: status %d\n", name, status);
    exit(3);
  }
}

void* hip() {
  static void* library = open_library("libamdhip64.so.5");
  return library;
}

template <typename T>
T* allocated(size_t count) {
  void* p;
  call(hip(), "hipMalloc", &p, count * sizeof(T));
  return static_cast<T*>(p);
}

// What a file holds, with what pads it.
float* matrix(const char* path) {
  if (*path == '=') return allocated<float>(strtoull(path + 1, nullptr, 10) / sizeof(float));
  FILE* file = fopen(path, "rb");
  long size = file && !fseek(file, 0, SEEK_END) ? ftell(file) : 0;
  size_t count = size / sizeof(float);
  std::vector<float> values(count);
  if (file) rewind(file);
  if (!count || fread(values.data(), sizeof(float), count, file) != count) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(2);
  }
  fclose(file);
  float* p = allocated<float>(count);
  call(hip(), "hipMemcpy", static_cast<void*>(p), static_cast<const void*>(values.data()), count * sizeof(float), TO_DEVICE);
  return p;
}
}  // namespace

// What comes before is not the product's: a library's own preparations.
void begin() {
  void* event;
  call(hip(), "hipEventCreate", &event);
  call(hip(), "hipEventRecord", event, static_cast<void*>(nullptr));
}

int main(int count, char** words) {
  if (count != 10 && count != 12) return 2;
  int number[6];
  for (int i = 0; i < 6; i++) number[i] = atoi(words[2 + i]);
  auto [m, n, k, lda, ldb, ldc] = number;
  // the first three allocations are A, B and C
  float *a = matrix(words[8]), *b = matrix(words[9]), *c = allocated<float>(size_t(ldc) * n);
  const char* transposes = count == 12 ? words[10] : "nn";
  float one = 1, zero = 0, before = count == 12 ? atoi(words[11]) : 0;
  void* handle;
  if (!strcmp(words[1], "sgemm")) {
    void* library = open_library("librocblas.so.0");
    call(library, "rocblas_create_handle", &handle);
    begin();
    int of_a = transposes[0] == 't' ? TRANSPOSE : NONE, of_b = transposes[1] == 't' ? TRANSPOSE : NONE;
    call(library, "rocblas_sgemm", handle, of_a, of_b, m, n, k, &one, a, lda, b, ldb, &before, c, ldc);
  } else {
    void *library = open_library("librocsparse.so.0"), *description;
    call(library, "rocsparse_create_handle", &handle);
    call(library, "rocsparse_create_mat_descr", &description);
    begin();
    int *each = allocated<int>(n), *starts = allocated<int>(n + 1), entries;
    call(library, "rocsparse_snnz", handle, COLUMNS, k, n, description, b, ldb, each, &entries);
    float* values = allocated<float>(entries ? entries : 1);
    int* rows = allocated<int>(entries ? entries : 1);
    call(library, "rocsparse_sdense2csc", handle, k, n, description, b, ldb, each, values, starts, rows);
    // the columns of B are the rows of its transpose
    if (!strcmp(words[1], "gemmi"))
      call(library, "rocsparse_sgemmi", handle, NONE, TRANSPOSE, m, n, k, entries, &one, a, lda, description, values,
           starts, rows, &zero, c, ldc);
    else
      call(library, "rocsparse_scsrmm", handle, NONE, TRANSPOSE, n, m, k, entries, &one, description, values, starts,
           rows, a, lda, &zero, c, n);
  }
  call(hip(), "hipDeviceSynchronize");
  return 0;
}
