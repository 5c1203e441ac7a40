// An ordinary OpenCL program: `opencl CASE...` tries parts of the interface, and ends with code 0 if it found what it
// should.
// `vector`, `local`, `errors`, `binary` and `sampled` compile kernels, and need a compiler; `sampled` AMD's device library.
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

static cl_mem image_of(cl_mem_flags flags, cl_channel_order order, cl_channel_type type, cl_image_desc what, void* host) {
  cl_int error;
  cl_image_format format = {order, type};
  cl_mem image = clCreateImage(context, flags, &format, &what, host, &error);
  OK(error);
  return image;
}

// The code with which an image is refused.
static cl_int refused(cl_channel_order order, cl_channel_type type, cl_image_desc what, cl_mem_flags flags, void* host) {
  cl_int error;
  cl_image_format format = {order, type};
  CHECK(!clCreateImage(context, flags, &format, &what, host, &error));
  return error;
}

static void images(void) {
  cl_uint number;
  cl_bool there;
  size_t size, row, slice;
  cl_int error;
  const size_t zero[] = {0, 0, 0};
  OK(clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof there, &there, NULL));
  OK(clGetDeviceInfo(device, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof size, &size, NULL));
  CHECK(there && size >= 8192);
  OK(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL, &number));
  CHECK(number == 36);
  cl_image_format formats[36];
  OK(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE3D, 36, formats, NULL));
  const cl_image_desc small = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 7, .image_height = 5};
  for (unsigned i = 0; i < number; i++)
    OK(clReleaseMemObject(image_of(0, formats[i].image_channel_order, formats[i].image_channel_data_type, small, NULL)));

  // 7 x 5 texels with rows of 40 bytes become an image; a part of it comes back with rows of 12
  unsigned short host[5 * 20], part[3 * 6], whole[35 * 2];
  for (int i = 0; i < 100; i++) host[i] = i;
  cl_image_desc what = small;
  what.image_row_pitch = 40;
  cl_mem a = image_of(CL_MEM_COPY_HOST_PTR, CL_RG, CL_UNSIGNED_INT16, what, host);
  const size_t origin[] = {2, 1, 0}, region[] = {3, 3, 1}, all[] = {7, 5, 1};
  OK(clEnqueueReadImage(queue, a, CL_TRUE, origin, region, 0, 0, part, 0, NULL, NULL));
  for (int y = 0; y < 3; y++)
    for (int x = 0; x < 6; x++) CHECK(part[6 * y + x] == 20 * (y + 1) + 4 + x);
  OK(clGetImageInfo(a, CL_IMAGE_ELEMENT_SIZE, sizeof size, &size, NULL));
  OK(clGetImageInfo(a, CL_IMAGE_HEIGHT, sizeof row, &row, NULL));
  OK(clGetMemObjectInfo(a, CL_MEM_TYPE, sizeof number, &number, NULL));
  CHECK(size == 4 && row == 5 && number == CL_MEM_OBJECT_IMAGE2D);
  OK(clEnqueueWriteImage(queue, a, CL_TRUE, zero, region, 0, 0, part, 0, NULL, NULL));
  // fills: what fits no number is the nearest one; through a buffer, with no gaps
  const cl_uint color[] = {70000, 3, 0, 0};
  const size_t corner[] = {6, 4, 0}, one[] = {1, 1, 1};
  OK(clEnqueueFillImage(queue, a, color, corner, one, 0, NULL, NULL));
  cl_mem buffer = buffer_of(0, sizeof whole + 4, NULL);
  OK(clEnqueueCopyImageToBuffer(queue, a, buffer, zero, all, 4, 0, NULL, NULL));
  CHECK(clEnqueueCopyImageToBuffer(queue, a, buffer, zero, all, 8, 0, NULL, NULL) == CL_INVALID_VALUE);
  OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 4, sizeof whole, whole, 0, NULL, NULL));
  for (int y = 0; y < 5; y++)
    for (int x = 0; x < 14; x++)
      CHECK(whole[14 * y + x] == (y < 3 && x < 6 ? 20 * (y + 1) + 4 + x : y < 4 || x < 12 ? 20 * y + x : x == 12 ? 65535 : 3));
  OK(clEnqueueCopyBufferToImage(queue, buffer, a, 4 + 14 * 2, zero, (size_t[]){7, 1, 1}, 0, NULL, NULL));
  OK(clEnqueueReadImage(queue, a, CL_TRUE, zero, (size_t[]){7, 1, 1}, 0, 0, part, 0, NULL, NULL));
  CHECK(!memcmp(part, whole + 14, 28));
  const float real[] = {1.0f / 3, -2, 1e6f, 6e-8f};
  const struct { cl_channel_type type; unsigned short texel[4]; } filled[] = {
      {CL_UNORM_INT16, {21845, 0, 65535, 0}}, {CL_SNORM_INT16, {10922, 0x8001, 32767, 0}}, {CL_HALF_FLOAT, {0x3555, 0xC000, 0x7C00, 1}}};
  for (int i = 0; i < 3; i++) {
    cl_mem of = image_of(0, CL_RGBA, filled[i].type, small, NULL);
    OK(clEnqueueFillImage(queue, of, real, origin, one, 0, NULL, NULL));
    OK(clEnqueueReadImage(queue, of, CL_TRUE, origin, one, 0, 0, part, 0, NULL, NULL));
    for (int c = 0; c < 4; c++) CHECK(part[c] == filled[i].texel[c]);
    CHECK(clEnqueueCopyImage(queue, a, of, zero, zero, one, 0, NULL, NULL) == CL_IMAGE_FORMAT_MISMATCH);
    OK(clReleaseMemObject(of));
  }

  // rows of a picture are layers of an array of lines; slices of a volume, with the program's rows and slices
  unsigned char lines[4 * 16], volume[2 * 3 * 8], back[64];
  for (int i = 0; i < 64; i++) lines[i] = i;
  for (int i = 0; i < 48; i++) volume[i] = 100 + i;
  const cl_image_desc array = {.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = 9, .image_array_size = 4, .image_row_pitch = 16, .image_slice_pitch = 16};
  cl_mem layers = image_of(CL_MEM_COPY_HOST_PTR, CL_R, CL_UNSIGNED_INT8, array, lines);
  cl_mem picture = image_of(0, CL_R, CL_UNSIGNED_INT8, small, NULL);
  OK(clEnqueueCopyImage(queue, layers, picture, (size_t[]){2, 1, 0}, zero, (size_t[]){7, 3, 1}, 0, NULL, NULL));
  OK(clEnqueueReadImage(queue, picture, CL_TRUE, zero, (size_t[]){7, 3, 1}, 8, 0, back, 0, NULL, NULL));
  for (int i = 0; i < 3; i++) CHECK(!memcmp(back + 8 * i, lines + 16 * (i + 1) + 2, 7));
  const cl_image_desc deep = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 5, .image_height = 3, .image_depth = 2, .image_row_pitch = 8};
  cl_mem box = image_of(CL_MEM_USE_HOST_PTR, CL_R, CL_SIGNED_INT8, deep, volume);
  OK(clEnqueueFillImage(queue, box, (cl_int[]){-500, 0, 0, 0}, (size_t[]){1, 1, 1}, (size_t[]){2, 2, 1}, 0, NULL, NULL));
  unsigned char* mapped = clEnqueueMapImage(queue, box, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, (size_t[]){0, 1, 1}, (size_t[]){5, 2, 1},
                                            &row, &slice, 0, NULL, NULL, &error);
  OK(error);
  CHECK(mapped == volume + 24 + 8 && row == 8 && slice == 24 && mapped[1] == 128 && mapped[10] == 128 && mapped[3] == 135);
  mapped[9] = 77;
  OK(clEnqueueUnmapMemObject(queue, box, mapped, 0, NULL, NULL));
  OK(clEnqueueReadImage(queue, box, CL_TRUE, (size_t[]){1, 2, 1}, one, 0, 0, back, 0, NULL, NULL));
  CHECK(back[0] == 77);
  const cl_image_desc sheets = {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY, .image_width = 5, .image_height = 3, .image_array_size = 2};
  cl_mem stack = image_of(0, CL_R, CL_SIGNED_INT8, sheets, NULL);
  OK(clEnqueueCopyImage(queue, box, stack, zero, zero, (size_t[]){5, 3, 2}, 0, NULL, NULL));
  mapped = clEnqueueMapImage(queue, stack, CL_TRUE, CL_MAP_READ, (size_t[]){0, 0, 1}, (size_t[]){5, 3, 1}, &row, &slice, 0, NULL, NULL, &error);
  OK(error);
  CHECK(row >= 5 && slice >= 3 * row && mapped[2 * row + 1] == 77 && mapped[row + 1] == 128 && mapped[4] == 128);
  OK(clEnqueueUnmapMemObject(queue, stack, mapped, 0, NULL, NULL));

  // what is refused: other formats and sizes, an image as a buffer, a buffer as an image
  CHECK(refused(CL_BGRA, CL_UNORM_INT8, small, 0, NULL) == CL_IMAGE_FORMAT_NOT_SUPPORTED);
  CHECK(refused(CL_R, CL_FLOAT, (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 7}, 0, NULL) == CL_INVALID_IMAGE_SIZE);
  CHECK(refused(CL_R, CL_FLOAT, what, 0, NULL) == CL_INVALID_IMAGE_DESCRIPTOR);
  CHECK(refused(CL_R, CL_FLOAT, (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 7, .buffer = buffer}, 0, NULL) ==
        CL_INVALID_IMAGE_DESCRIPTOR);
  CHECK(refused(CL_R, CL_FLOAT, small, CL_MEM_COPY_HOST_PTR, NULL) == CL_INVALID_HOST_PTR);
  CHECK(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, 4, back, 0, NULL, NULL) == CL_INVALID_MEM_OBJECT);
  CHECK(clEnqueueReadImage(queue, buffer, CL_TRUE, zero, one, 0, 0, back, 0, NULL, NULL) == CL_INVALID_MEM_OBJECT);
  CHECK(clEnqueueReadImage(queue, a, CL_TRUE, corner, region, 0, 0, back, 0, NULL, NULL) == CL_INVALID_VALUE);
  CHECK(!clCreateSampler(context, CL_FALSE, CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, &error) && error == CL_INVALID_VALUE);
  cl_sampler sampler = clCreateSampler(context, CL_TRUE, CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, &error);
  OK(error);
  OK(clGetSamplerInfo(sampler, CL_SAMPLER_ADDRESSING_MODE, sizeof number, &number, NULL));
  CHECK(number == CL_ADDRESS_REPEAT);
  OK(clReleaseSampler(sampler));
  cl_mem made[] = {a, buffer, layers, picture, box, stack};
  for (int i = 0; i < 6; i++) OK(clReleaseMemObject(made[i]));
}

static const char SAMPLED[] =
    "#ifndef __IMAGE_SUPPORT__\n"
    "#error no images\n"
    "#endif\n"
    "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable\n"
    "constant sampler_t own = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
    "kernel void turned(read_only image2d_t from, write_only image2d_t to, sampler_t between, global float* means) {\n"
    "  int x = get_global_id(0), y = get_global_id(1);\n"
    "  write_imagef(to, (int2)(y, x), read_imagef(from, own, (int2)(x, y)));\n"
    "  float2 at = (float2)((x + 1.0f) / get_image_width(from), (y + 0.5f) / get_image_height(from));\n"
    "  means[y * get_global_size(0) + x] = read_imagef(from, between, at).x;\n"
    "}\n"
    "kernel void doubled(read_only image1d_array_t from, write_only image3d_t to) {\n"
    "  int x = get_global_id(0), layer = get_global_id(1);\n"
    "  write_imagei(to, (int4)(x, 0, layer, 0), read_imagei(from, own, (int2)(x - 1, layer)) * 2);\n"
    "}\n";

static void sampled(void) {
  cl_int error;
  cl_program program = built(SAMPLED, NULL);
  cl_kernel turned = kernel_of(program, "turned"), doubled = kernel_of(program, "doubled");
  enum { W = 16, H = 4 };
  float from[H][W], to[W][H], means[H][W];
  for (int i = 0; i < H * W; i++) from[0][i] = i * i;
  const cl_image_desc wide = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H};
  const cl_image_desc high = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = H, .image_height = W};
  cl_mem a = image_of(CL_MEM_COPY_HOST_PTR, CL_R, CL_FLOAT, wide, from), b = image_of(CL_MEM_WRITE_ONLY, CL_R, CL_FLOAT, high, NULL);
  cl_mem m = buffer_of(0, sizeof means, NULL);
  cl_sampler sampler = clCreateSampler(context, CL_TRUE, CL_ADDRESS_REPEAT, CL_FILTER_LINEAR, &error);
  OK(error);
  OK(clSetKernelArg(turned, 0, sizeof a, &a));
  OK(clSetKernelArg(turned, 1, sizeof b, &b));
  OK(clSetKernelArg(turned, 2, sizeof sampler, &sampler));
  OK(clSetKernelArg(turned, 3, sizeof m, &m));
  CHECK(clSetKernelArg(turned, 0, sizeof m, &m) == CL_INVALID_MEM_OBJECT);
  CHECK(clSetKernelArg(turned, 3, sizeof a, &a) == CL_INVALID_MEM_OBJECT);
  CHECK(clSetKernelArg(turned, 2, sizeof a, &a) == CL_INVALID_SAMPLER);
  CHECK(clSetKernelArg(doubled, 0, sizeof a, &a) == CL_INVALID_ARG_VALUE);
  const size_t global[] = {W, H}, zero[] = {0, 0, 0};
  OK(clEnqueueNDRangeKernel(queue, turned, 2, NULL, global, global, 0, NULL, NULL));
  OK(clEnqueueReadImage(queue, b, CL_TRUE, zero, (size_t[]){H, W, 1}, 0, 0, to, 0, NULL, NULL));
  OK(clEnqueueReadBuffer(queue, m, CL_TRUE, 0, sizeof means, means, 0, NULL, NULL));
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) CHECK(to[x][y] == from[y][x] && means[y][x] == (from[y][x] + from[y][(x + 1) % W]) / 2);
  short lines[3][W], volume[3][W];
  for (int i = 0; i < 3 * W; i++) lines[0][i] = i - 20;
  const cl_image_desc array = {.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY, .image_width = W, .image_array_size = 3};
  const cl_image_desc deep = {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = W, .image_height = 1, .image_depth = 3};
  cl_mem c = image_of(CL_MEM_COPY_HOST_PTR, CL_R, CL_SIGNED_INT16, array, lines), d = image_of(0, CL_R, CL_SIGNED_INT16, deep, NULL);
  OK(clSetKernelArg(doubled, 0, sizeof c, &c));
  OK(clSetKernelArg(doubled, 1, sizeof d, &d));
  OK(clEnqueueNDRangeKernel(queue, doubled, 2, NULL, (size_t[]){W, 3}, NULL, 0, NULL, NULL));
  OK(clEnqueueReadImage(queue, d, CL_TRUE, zero, (size_t[]){W, 1, 3}, 0, 0, volume, 0, NULL, NULL));
  for (int layer = 0; layer < 3; layer++)
    for (int x = 0; x < W; x++) CHECK(volume[layer][x] == (x ? 2 * lines[layer][x - 1] : 0));
  cl_mem made[] = {a, b, m, c, d};
  for (int i = 0; i < 5; i++) OK(clReleaseMemObject(made[i]));
  OK(clReleaseSampler(sampler));
  OK(clReleaseKernel(turned));
  OK(clReleaseKernel(doubled));
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
  } cases[] = {{"info", info}, {"vector", vector}, {"local", local_memory}, {"copies", copies}, {"errors", errors}, {"binary", binary},
               {"images", images}, {"sampled", sampled}};
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
