// An ordinary OpenCL program: `opencl CASE...` tries parts of the interface, and ends with code 0 if it found what it
// should.
// `vector`, `local`, `errors` and `binary` compile kernels, and need a compiler.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define _GNU_SOURCE
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000
#define CHECK(what)                                                  \
  do {                                                               \
    if (!(what)) {                                                   \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
      exit(1);                                                       \
    }                                                                \
  } while (0)
#define OK(call) CHECK((call) == CL_SUCCESS)

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static void open_device(void) {
  cl_uint count = 0;
  cl_int error;
  OK(clGetPlatformIDs(0, NULL, &count));
  CHECK(count == 1);
  OK(clGetPlatformIDs(1, &platform, NULL));
  OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, &count));
  CHECK(count == 1);
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
  context = clCreateContext(properties, 1, &device, NULL, NULL, &error);
  OK(error);
  queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
  OK(error);
}

static void close_device(void) {
  OK(clReleaseCommandQueue(queue));
  OK(clReleaseContext(context));
}

static cl_program built(const char* source, const char* options) {
  cl_int error;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  OK(error);
  error = clBuildProgram(program, 1, &device, options, NULL, NULL);
  if (error) {
    char log[4096] = "";
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    fprintf(stderr, "%s\n", log);
  }
  OK(error);
  return program;
}

static cl_kernel kernel_of(cl_program program, const char* name) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  OK(error);
  return kernel;
}

static cl_mem buffer_of(cl_mem_flags flags, size_t size, void* host) {
  cl_int error;
  cl_mem buffer = clCreateBuffer(context, flags, size, host, &error);
  OK(error);
  return buffer;
}

static cl_ulong when(cl_event event, cl_profiling_info what) {
  cl_ulong time;
  OK(clGetEventProfilingInfo(event, what, sizeof time, &time, NULL));
  return time;
}

static void info(void) {
  char text[512];
  cl_uint number;
  cl_ulong big;
  size_t size;
  OK(clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof text, text, &size));
  CHECK(!strncmp(text, "OpenCL 1.2 ", 11) && size == strlen(text) + 1);
  CHECK(clGetPlatformInfo(platform, CL_PLATFORM_VERSION, 3, text, NULL) == CL_INVALID_VALUE);
  OK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, NULL));
  printf("%s\n", text);
  OK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof number, &number, NULL));
  OK(clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof big, &big, NULL));
  printf("%u units, %lu MiB\n", number, (unsigned long)(big >> 20));
  OK(clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof big, &big, NULL));
  CHECK(big == 65536);
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL) == CL_DEVICE_NOT_FOUND);
  // what a loader does: the platforms by one function, all others by the table that an object begins with
  void* library = dlopen("libamdhip64.so.6", RTLD_NOW);
  CHECK(library);
  void* (*address)(const char*) = (void* (*)(const char*))dlsym(library, "clGetExtensionFunctionAddress");
  cl_int (*platforms)(cl_uint, cl_platform_id*, cl_uint*) = (cl_int(*)(cl_uint, cl_platform_id*, cl_uint*))address("clIcdGetPlatformIDsKHR");
  cl_platform_id found;
  OK(platforms(1, &found, NULL));
  const cl_icd_dispatch* table = *(const cl_icd_dispatch* const*)found;
#define IN_TABLE(name) CHECK((void*)table->name == dlsym(library, #name) && (void*)table->name)
  IN_TABLE(clGetPlatformIDs); IN_TABLE(clCreateBuffer); IN_TABLE(clGetKernelInfo); IN_TABLE(clEnqueueTask);
  IN_TABLE(clGetExtensionFunctionAddress); IN_TABLE(clSetEventCallback); IN_TABLE(clEnqueueCopyBufferRect);
  IN_TABLE(clCreateSubDevicesEXT); IN_TABLE(clRetainDevice); IN_TABLE(clEnqueueFillBuffer); IN_TABLE(clCreateFromGLTexture);
  IN_TABLE(clCreateFromEGLImageKHR); IN_TABLE(clCreateCommandQueueWithProperties); IN_TABLE(clSetKernelExecInfo);
  IN_TABLE(clGetKernelSubGroupInfo); IN_TABLE(clSetProgramSpecializationConstant); IN_TABLE(clSetContextDestructorCallback);
  size_t slots = sizeof *table / sizeof(void*);
  for (size_t i = 0; i < slots; i++) CHECK(((void* const*)table)[i]);
}

static const char ADD[] =
    "#include \"by.h\"\n"
    "kernel void add(global int* to, global const int* from, int more) {\n"
    "  size_t i = get_global_id(0);\n"
    "  to[i] = from[i] + more * BY + (int)get_global_offset(0);\n"
    "}\n"
    "kernel void second(global int* to) { to[get_global_id(0)] = get_local_size(0); }\n";

static void vector(void) {
  int from[N], to[N];
  for (int i = 0; i < N; i++) from[i] = i * i, to[i] = -1;
  cl_program program = built(ADD, "-D BY=3 -I \"headers\"");
  cl_kernel kernel = kernel_of(program, "add");
  cl_mem a = buffer_of(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof from, from), b = buffer_of(CL_MEM_READ_WRITE, sizeof to, NULL);
  int more = 7;
  cl_event written, ran, read;
  OK(clEnqueueWriteBuffer(queue, b, CL_FALSE, 0, sizeof to, to, 0, NULL, &written));
  size_t global = N - 10, offset = 10;
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL) == CL_INVALID_KERNEL_ARGS);
  OK(clSetKernelArg(kernel, 0, sizeof b, &b));
  OK(clSetKernelArg(kernel, 1, sizeof a, &a));
  OK(clSetKernelArg(kernel, 2, sizeof more, &more));
  OK(clEnqueueNDRangeKernel(queue, kernel, 1, &offset, &global, NULL, 1, &written, &ran));
  OK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof to, to, 1, &ran, &read));
  for (int i = 0; i < N; i++) CHECK(to[i] == (i < 10 ? -1 : i * i + 21 + 10));
  cl_event order[] = {written, ran, read};
  cl_ulong before = 0;
  for (int i = 0; i < 3; i++) {
    cl_ulong asked = when(order[i], CL_PROFILING_COMMAND_QUEUED), turn = when(order[i], CL_PROFILING_COMMAND_SUBMIT);
    cl_ulong start = when(order[i], CL_PROFILING_COMMAND_START), end = when(order[i], CL_PROFILING_COMMAND_END);
    CHECK(asked <= turn && turn <= start && start <= end && before <= start);
    before = end;
  }
  printf("kernel %lu ns, from its turn to its start %lu ns\n",
         (unsigned long)(when(ran, CL_PROFILING_COMMAND_END) - when(ran, CL_PROFILING_COMMAND_START)),
         (unsigned long)(when(ran, CL_PROFILING_COMMAND_START) - when(ran, CL_PROFILING_COMMAND_SUBMIT)));
  // local NULL: a size that divides the range; of a prime it is 1
  cl_kernel second = kernel_of(program, "second");
  OK(clSetKernelArg(second, 0, sizeof b, &b));
  for (int i = 0; i < 2; i++) {
    size_t items[] = {1000, 997}, sizes[] = {250, 1};
    OK(clEnqueueNDRangeKernel(queue, second, 1, NULL, &items[i], NULL, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof to, to, 0, NULL, NULL));
    CHECK(to[0] == (int)sizes[i]);
  }
  cl_uint count;
  char text[64];
  cl_kernel all[2];
  OK(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL));
  CHECK(count == 3);
  OK(clGetKernelArgInfo(kernel, 2, CL_KERNEL_ARG_TYPE_NAME, sizeof text, text, NULL));
  CHECK(!strcmp(text, "int"));
  OK(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof text, text, NULL));
  CHECK(!strcmp(text, "add;second"));
  OK(clCreateKernelsInProgram(program, 2, all, &count));
  CHECK(count == 2);
  for (int i = 0; i < 2; i++) OK(clReleaseKernel(all[i]));
  OK(clGetMemObjectInfo(a, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL));
  CHECK(count == 1);
  for (int i = 0; i < 3; i++) OK(clReleaseEvent(order[i]));
  OK(clReleaseKernel(second));
  OK(clReleaseKernel(kernel));
  OK(clReleaseProgram(program));
  OK(clReleaseMemObject(a));
  OK(clReleaseMemObject(b));
}

static const char SUM[] =
    "kernel __attribute__((reqd_work_group_size(64, 2, 1)))\n"
    "void sum(local int* some, global int* to, local double* other) {\n"
    "  int here = get_local_id(0) + 64 * get_local_id(1), group = get_group_id(0) + get_num_groups(0) * get_group_id(1);\n"
    "  local int own[4];\n"
    "  if (here < 4) own[here] = 1000;\n"
    "  some[here] = get_global_id(0) + 1000 * get_global_id(1);\n"
    "  other[here] = 1;\n"
    "  for (int left = 64; left; left /= 2) {\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (here < left) some[here] += some[here + left], other[here] += other[here + left];\n"
    "  }\n"
    "  if (!here) to[group] = some[0] + (int)other[0] + own[3];\n"
    "}\n";

static void local_memory(void) {
  cl_program program = built(SUM, NULL);
  cl_kernel kernel = kernel_of(program, "sum");
  int to[4];
  cl_mem b = buffer_of(CL_MEM_WRITE_ONLY, sizeof to, NULL);
  OK(clSetKernelArg(kernel, 0, 128 * sizeof(int) + 4, NULL));
  OK(clSetKernelArg(kernel, 1, sizeof b, &b));
  OK(clSetKernelArg(kernel, 2, 128 * sizeof(double), NULL));
  CHECK(clSetKernelArg(kernel, 1, 4, &b) == CL_INVALID_ARG_SIZE);
  CHECK(clSetKernelArg(kernel, 0, 16, to) == CL_INVALID_ARG_VALUE);
  CHECK(clSetKernelArg(kernel, 3, 16, to) == CL_INVALID_ARG_INDEX);
  size_t global[] = {128, 4}, wrong[] = {32, 4}, required[3];
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, wrong, 0, NULL, NULL) == CL_INVALID_WORK_GROUP_SIZE);
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 4, NULL, global, NULL, 0, NULL, NULL) == CL_INVALID_WORK_DIMENSION);
  OK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL));
  OK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof to, to, 0, NULL, NULL));
  for (int y = 0; y < 2; y++)
    for (int x = 0; x < 2; x++) {
      int wanted = 128 + 1000;
      for (int j = 0; j < 2; j++)
        for (int i = 0; i < 64; i++) wanted += 64 * x + i + 1000 * (2 * y + j);
      CHECK(to[2 * y + x] == wanted);
    }
  cl_ulong bytes;
  OK(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required, NULL));
  CHECK(required[0] == 64 && required[1] == 2 && required[2] == 1);
  OK(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL));
  CHECK(bytes == 16 + 516 + 1024);
  OK(clSetKernelArg(kernel, 0, 70000, NULL));
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL) == CL_OUT_OF_RESOURCES);
  OK(clReleaseKernel(kernel));
  OK(clReleaseProgram(program));
  OK(clReleaseMemObject(b));
}

static void copies(void) {
  unsigned char host[64], back[1024], kept[1024];
  for (int i = 0; i < 64; i++) host[i] = i;
  for (int i = 0; i < 1024; i++) kept[i] = i % 251;
  cl_int error;
  cl_mem a = buffer_of(CL_MEM_READ_WRITE, 1024, NULL);
  const unsigned pattern = 0x04030201;
  OK(clEnqueueFillBuffer(queue, a, &pattern, 4, 0, 1024, 0, NULL, NULL));
  // 4 x 4 bytes of 8 x 8 into the second of two slices of 16 rows of 16 bytes
  const size_t to[] = {2, 3, 1}, from[] = {1, 2, 0}, region[] = {4, 4, 1}, origin[] = {0, 0, 0}, all[] = {16, 16, 2};
  OK(clEnqueueWriteBufferRect(queue, a, CL_TRUE, to, from, region, 16, 256, 8, 0, host, 0, NULL, NULL));
  OK(clEnqueueReadBufferRect(queue, a, CL_TRUE, origin, origin, all, 16, 256, 0, 0, back, 0, NULL, NULL));
  for (int z = 0; z < 2; z++)
    for (int y = 0; y < 16; y++)
      for (int x = 0; x < 16; x++) {
        int inside = z == 1 && x >= 2 && x < 6 && y >= 3 && y < 7;
        CHECK(back[256 * z + 16 * y + x] == (inside ? 8 * (y - 3 + 2) + x - 2 + 1 : x % 4 + 1));
      }
  cl_mem b = buffer_of(CL_MEM_USE_HOST_PTR, 1024, kept);
  cl_buffer_region part = {256, 256};
  cl_mem sub = clCreateSubBuffer(b, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &part, &error);
  OK(error);
  part.origin = 4;
  CHECK(!clCreateSubBuffer(b, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, &error) && error == CL_MISALIGNED_SUB_BUFFER_OFFSET);
  OK(clEnqueueCopyBuffer(queue, a, sub, 256, 0, 256, 0, NULL, NULL));
  unsigned char* mapped = clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 128, 512, 0, NULL, NULL, &error);
  OK(error);
  CHECK(mapped == kept + 128 && mapped[127] == 255 % 251 && mapped[128] == 1 && mapped[128 + 3 * 16 + 2] == 17);
  mapped[0] = 200;
  OK(clEnqueueUnmapMemObject(queue, b, mapped, 0, NULL, NULL));
  CHECK(clEnqueueUnmapMemObject(queue, b, mapped, 0, NULL, NULL) == CL_INVALID_VALUE);
  OK(clEnqueueReadBuffer(queue, b, CL_TRUE, 127, 2, back, 0, NULL, NULL));
  CHECK(back[0] == 127 && back[1] == 200);
  mapped = clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, 16, 0, NULL, NULL, &error);
  OK(error);
  memset(mapped, 9, 16);
  OK(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL));
  OK(clEnqueueReadBuffer(queue, a, CL_TRUE, 15, 2, back, 0, NULL, NULL));
  CHECK(back[0] == 9 && back[1] == 1);
  CHECK(clEnqueueReadBuffer(queue, a, CL_TRUE, 1000, 25, back, 0, NULL, NULL) == CL_INVALID_VALUE);
  OK(clReleaseMemObject(b));
  OK(clReleaseMemObject(sub));
  OK(clReleaseMemObject(a));
}

static void errors(void) {
  cl_int error;
  cl_image_format format = {CL_RGBA, CL_FLOAT};
  cl_image_desc image = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
  CHECK(!clCreateImage(context, 0, &format, &image, NULL, &error) && error == CL_INVALID_OPERATION);
  CHECK(!clCreateSampler(context, CL_TRUE, CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, &error) && error == CL_INVALID_OPERATION);
  CHECK(clEnqueueNativeKernel(queue, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL) == CL_INVALID_OPERATION);
  CHECK(!clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error) &&
        error == CL_INVALID_QUEUE_PROPERTIES);
  CHECK(!clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 4, NULL, &error) && error == CL_INVALID_HOST_PTR);
  CHECK(!clCreateBuffer(context, 0, 0, NULL, &error) && error == CL_INVALID_BUFFER_SIZE);
  CHECK(!clCreateBuffer((cl_context)queue, 0, 4, NULL, &error) && error == CL_INVALID_CONTEXT);
  CHECK(clFinish((cl_command_queue)context) == CL_INVALID_COMMAND_QUEUE);
  CHECK(clReleaseEvent(NULL) == CL_INVALID_EVENT);
  const char* source = "kernel void wrong(global int* x) { x[0] = nothing; }";
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  OK(error);
  CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL) == CL_BUILD_PROGRAM_FAILURE);
  char log[4096];
  cl_build_status status;
  OK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL));
  OK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL));
  CHECK(status == CL_BUILD_ERROR && strstr(log, "program.cl:1:") && strstr(log, "nothing"));
  CHECK(!clCreateKernel(program, "wrong", &error) && error == CL_INVALID_PROGRAM_EXECUTABLE);
  OK(clReleaseProgram(program));
  const unsigned char bytes[] = "no code object";
  const unsigned char* list = bytes;
  size_t size = sizeof bytes;
  program = clCreateProgramWithBinary(context, 1, &device, &size, &list, NULL, &error);
  OK(error);
  CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL) == CL_INVALID_BINARY);
  OK(clReleaseProgram(program));
}

static void binary(void) {
  cl_program program = built("kernel void twice(global float* x, float by) { x[get_global_id(0)] *= by; }", "-cl-fast-relaxed-math");
  size_t size;
  cl_int error, status;
  OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
  unsigned char* code = malloc(size);
  OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof code, &code, NULL));
  OK(clReleaseProgram(program));
  program = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char**)&code, &status, &error);
  OK(error);
  OK(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
  CHECK(!clCreateKernel(program, "thrice", &error) && error == CL_INVALID_KERNEL_NAME);
  cl_kernel kernel = kernel_of(program, "twice");
  float x[128], by = 2;
  for (int i = 0; i < 128; i++) x[i] = i;
  cl_mem b = buffer_of(CL_MEM_COPY_HOST_PTR, sizeof x, x);
  OK(clSetKernelArg(kernel, 0, sizeof b, &b));
  OK(clSetKernelArg(kernel, 1, sizeof by, &by));
  size_t global = 128, local = 64;
  cl_event first;
  OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, &first));
  // another queue waits for the event, on the clock too
  cl_command_queue other = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
  OK(error);
  cl_event second;
  OK(clEnqueueNDRangeKernel(other, kernel, 1, NULL, &global, &local, 1, &first, &second));
  OK(clWaitForEvents(1, &second));
  CHECK(when(second, CL_PROFILING_COMMAND_SUBMIT) >= when(first, CL_PROFILING_COMMAND_END));
  OK(clGetEventInfo(second, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
  CHECK(status == CL_COMPLETE);
  OK(clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL));
  for (int i = 0; i < 128; i++) CHECK(x[i] == 4 * i);
  OK(clReleaseEvent(first));
  OK(clReleaseEvent(second));
  OK(clReleaseCommandQueue(other));
  OK(clReleaseMemObject(b));
  OK(clReleaseKernel(kernel));
  OK(clReleaseProgram(program));
  free(code);
}

int main(int count, char** arguments) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"info", info}, {"vector", vector}, {"local", local_memory}, {"copies", copies}, {"errors", errors}, {"binary", binary}};
  open_device();
  for (int argument = 1; argument < count; argument++) {
    size_t i = 0;
    while (i < sizeof cases / sizeof *cases && strcmp(arguments[argument], cases[i].name)) i++;
    CHECK(i < sizeof cases / sizeof *cases);
    cases[i].run();
  }
  close_device();
  return 0;
}
