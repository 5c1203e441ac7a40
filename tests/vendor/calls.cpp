// Calls of AMD's libraries, timed by events and compared with the processor: calls NAME SIZE...
// The libraries are opened by name, so that this is built without their headers; HIP's functions likewise.
#include <dlfcn.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {
void* open_library(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(4);
  }
  return library;
}

template <typename... Arguments>
int call(void* library, const char* name, Arguments... arguments) {
  auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  int status = function ? function(arguments...) : -1;
  if (status) {
    fprintf(stderr, "%s: status %d\n", name, status);
    exit(3);
  }
  return status;
}

void* hip() {
  static void* library = open_library("libamdhip64.so.5");
  return library;
}

template <typename T>
T* on_device(const std::vector<T>& host) {
  void* p;
  call(hip(), "hipMalloc", &p, host.size() * sizeof(T));
  call(hip(), "hipMemcpy", p, static_cast<const void*>(host.data()), host.size() * sizeof(T), 1);
  return static_cast<T*>(p);
}

template <typename T>
std::vector<T> from_device(const T* p, size_t n) {
  std::vector<T> host(n);
  call(hip(), "hipMemcpy", static_cast<void*>(host.data()), static_cast<const void*>(p), n * sizeof(T), 2);
  return host;
}

std::vector<float> numbers(size_t n) {
  static std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> all(n);
  for (float& x : all) x = uniform(generator);
  return all;
}

// Microseconds of what runs between two events, the second time that it runs.
template <typename F>
double timed(F run) {
  void *first, *last;
  call(hip(), "hipEventCreate", &first);
  call(hip(), "hipEventCreate", &last);
  float ms = 0;
  for (int i = 0; i < 2; i++) {
    call(hip(), "hipEventRecord", first, static_cast<void*>(nullptr));
    run();
    call(hip(), "hipEventRecord", last, static_cast<void*>(nullptr));
  }
  call(hip(), "hipEventSynchronize", last);
  call(hip(), "hipEventElapsedTime", &ms, first, last);
  return ms * 1e3;
}

int report(double us, double operations, double error, double bound) {
  printf("%.1f us %.0f GFLOP/s error %.1e\n", us, us ? operations / us / 1e3 : 0.0, error);
  return error > bound;
}

int sgemm(int m, int n, int k) {
  void* library = open_library("librocblas.so.0");
  auto a = numbers(size_t(m) * k), b = numbers(size_t(k) * n);
  auto da = on_device(a), db = on_device(b), dc = on_device(std::vector<float>(size_t(m) * n));
  void* handle;
  call(library, "rocblas_create_handle", &handle);
  float one = 1, zero = 0;
  double us = timed([&] {
    call(library, "rocblas_sgemm", handle, 111, 111, m, n, k, &one, da, m, db, k, &zero, dc, m);
  });
  auto c = from_device(dc, size_t(m) * n);
  double worst = 0;
  for (size_t at = 0; at < c.size(); at += 1 + c.size() / 5000) {
    double sum = 0;
    for (int i = 0; i < k; i++) sum += double(a[at % m + size_t(i) * m]) * b[i + at / m * k];
    worst = std::fmax(worst, std::fabs(sum - c[at]));
  }
  return report(us, 2.0 * m * n * k, worst, 1e-5 * k);
}

int csrmm(int m, int n, int k, int each) {  // each: entries in a row
  void* library = open_library("librocsparse.so.0");
  std::mt19937 generator(2);
  std::vector<int> rows(m + 1), columns;
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < each; j++) columns.push_back(j * (k / each) + generator() % (k / each));
    rows[i + 1] = columns.size();
  }
  int entries = columns.size();
  auto values = numbers(entries), b = numbers(size_t(k) * n);
  auto dv = on_device(values), db = on_device(b), dc = on_device(std::vector<float>(size_t(m) * n));
  auto dr = on_device(rows), dx = on_device(columns);
  void *handle, *description;
  call(library, "rocsparse_create_handle", &handle);
  call(library, "rocsparse_create_mat_descr", &description);
  float one = 1, zero = 0;
  double us = timed([&] {
    if (n == 1)
      call(library, "rocsparse_scsrmv", handle, 111, m, k, entries, &one, description, dv, dr, dx,
           static_cast<void*>(nullptr), db, &zero, dc);
    else
      call(library, "rocsparse_scsrmm", handle, 111, 111, m, n, k, entries, &one, description, dv, dr, dx, db, k, &zero,
           dc, m);
  });
  auto c = from_device(dc, size_t(m) * n);
  double worst = 0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) {
      double sum = 0;
      for (int e = rows[i]; e < rows[i + 1]; e++) sum += double(values[e]) * b[columns[e] + size_t(j) * k];
      worst = std::fmax(worst, std::fabs(sum - c[i + size_t(j) * m]));
    }
  return report(us, 2.0 * entries * n, worst, 1e-5 * each);
}

int fft(size_t n, size_t batch) {
  void* library = open_library("librocfft.so.0");
  auto parts = numbers(2 * n * batch);
  auto d = on_device(parts);
  void* plan;
  call(library, "rocfft_setup");
  call(library, "rocfft_plan_create", &plan, 0, 0, 0, size_t(1), &n, batch, static_cast<void*>(nullptr));
  void* buffer[] = {d};
  double us = timed([&] {
    call(hip(), "hipMemcpy", static_cast<void*>(d), static_cast<const void*>(parts.data()), parts.size() * 4, 1);
    call(library, "rocfft_execute", plan, buffer, buffer, static_cast<void*>(nullptr));
  });
  (void)us;
  auto found = from_device(d, parts.size());
  double worst = 0;
  for (size_t line = 0; line < batch; line += 1 + batch / 4)
    for (size_t f = 0; f < n; f += 1 + n / 64) {
      std::complex<double> sum;
      for (size_t i = 0; i < n; i++) {
        const float* x = &parts[2 * (line * n + i)];
        sum += std::complex<double>(x[0], x[1]) * std::polar(1.0, -2 * M_PI * double(f * i % n) / double(n));
      }
      const float* y = &found[2 * (line * n + f)];
      worst = std::fmax(worst, std::abs(sum - std::complex<double>(y[0], y[1])));
    }
  double again = timed([&] { call(library, "rocfft_execute", plan, buffer, buffer, static_cast<void*>(nullptr)); });
  return report(again, 5.0 * n * std::log2(double(n)) * batch, worst, 1e-5 * n);
}

// Batches of real values to n/2 + 1 frequencies each, side by side, or back; rocFFT's inverse is n times the values.
int rfft(size_t n, size_t batch, bool inverse) {
  void* library = open_library("librocfft.so.0");
  size_t bins = n / 2 + 1;
  auto x = numbers(n * batch);
  std::vector<float> y(2 * bins * batch);
  auto sums = [&](size_t line, size_t f) {
    std::complex<double> sum;
    for (size_t i = 0; i < n; i++) sum += double(x[line * n + i]) * std::polar(1.0, -2 * M_PI * double(f * i % n) / double(n));
    return sum;
  };
  for (size_t line = 0; inverse && line < batch; line++)
    for (size_t f = 0; f < bins; f++) {
      auto sum = sums(line, f);
      y[2 * (line * bins + f)] = sum.real(), y[2 * (line * bins + f) + 1] = sum.imag();
    }
  float *dx = on_device(x), *dy = on_device(y);
  void *plan, *from[] = {inverse ? dy : dx}, *to[] = {inverse ? dx : dy};
  call(library, "rocfft_setup");
  call(library, "rocfft_plan_create", &plan, 1, inverse ? 3 : 2, 0, size_t(1), &n, batch, static_cast<void*>(nullptr));
  double us = timed([&] { call(library, "rocfft_execute", plan, from, to, static_cast<void*>(nullptr)); });
  double worst = 0;
  auto found = inverse ? from_device(dx, x.size()) : from_device(dy, y.size());
  for (size_t line = 0; line < batch; line += 1 + batch / 64)
    for (size_t f = 0; f < (inverse ? n : bins); f++) {
      const float* at = &found[2 * (line * bins + f)];
      worst = std::fmax(worst, inverse ? std::fabs(found[line * n + f] / double(n) - x[line * n + f])
                                       : std::abs(sums(line, f) - std::complex<double>(at[0], at[1])));
    }
  return report(us, 2.5 * n * std::log2(double(n)) * batch, worst, 1e-5 * n);
}
}  // namespace

int main(int count, char** words) {
  auto number = [&](int i) { return i < count ? atoi(words[i]) : 0; };
  const char* name = count > 1 ? words[1] : "";
  if (!strcmp(name, "sgemm")) return sgemm(number(2), number(3), number(4));
  if (!strcmp(name, "csrmm") && number(5) > 0 && number(5) <= number(4)) return csrmm(number(2), number(3), number(4), number(5));
  if (!strcmp(name, "fft")) return fft(number(2), number(3));
  if (!strcmp(name, "rfft") || !strcmp(name, "irfft")) return rfft(number(2), number(3), *name == 'i');
  fprintf(stderr, "calls sgemm M N K | csrmm M N K ENTRIES (of a row, up to K) | fft, rfft, irfft N BATCH\n");
  return 2;
}
