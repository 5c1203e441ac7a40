// Arrays, and textures and surfaces on them: linear images in device memory, described by the simulator. An object is
// the device address of 16 words, which AMD's device library reads (gpusim/jobs/hip/textures.py).
#include <map>
#include <mutex>

#include "memory.h"
#include "textures.h"

extern "C" hipError_t hipMalloc(void** p, size_t n);
extern "C" hipError_t hipFree(void* p);

namespace {
enum { LAYERED = 1, SURFACE = 2, CUBE = 4, GATHER = 8 };            // hipArray...
enum { RESOURCE_ARRAY, RESOURCE_MIPMAPPED, RESOURCE_LINEAR, RESOURCE_PITCH_2D };
enum { CLAMP_TO_EDGE = 1, BORDER = 3 };                             // hipTextureAddressMode
constexpr size_t ALIGNMENT = 256;

struct hipResourceDesc {
  int resType;
  union {
    hipArray* array;
    void* mipmap;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};

struct hipTextureDesc {
  int addressMode[3];
  int filterMode, readMode, sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};

struct HIP_ARRAY_DESCRIPTOR {
  size_t Width, Height;
  int Format;
  unsigned NumChannels;
};

struct HIP_ARRAY3D_DESCRIPTOR {
  size_t Width, Height, Depth;
  int Format;
  unsigned NumChannels, Flags;
};

struct Object {
  hipResourceDesc resource;
  hipTextureDesc texture;
};
std::mutex mutex;
std::map<const void*, Object> objects;

// hipArray_Format and the format of a channel that each is
constexpr struct { int format, bits, kind; } FORMATS[] = {
    {0x01, 8, UNSIGNED}, {0x02, 16, UNSIGNED}, {0x03, 32, UNSIGNED}, {0x08, 8, SIGNED},
    {0x09, 16, SIGNED},  {0x0a, 32, SIGNED},   {0x10, 16, FLOAT},    {0x20, 32, FLOAT}};

unsigned channels_of(const hipChannelFormatDesc& d) { return (d.x > 0) + (d.y > 0) + (d.z > 0) + (d.w > 0); }

hipError_t make(hipArray** made, const hipChannelFormatDesc* desc, size_t width, size_t height, size_t depth, unsigned flags) {
  CONNECT();
  if (!made || !desc || !width) return fail(hipErrorInvalidValue);
  *made = nullptr;
  unsigned channels = channels_of(*desc);
  int format = 0;
  for (const auto& one : FORMATS)
    if (one.bits == desc->x && one.kind == desc->kind) format = one.format;
  bool alike = (!desc->y || desc->y == desc->x) && (!desc->z || desc->z == desc->x) && (!desc->w || desc->w == desc->x);
  if (!format || !alike || channels == 3) {
    complain("an array of %d, %d, %d, %d bits: one, two or four numbers of 8, 16 or 32 bits each are allowed", desc->x,
             desc->y, desc->z, desc->w);
    return fail(hipErrorInvalidValue);
  }
  if (flags & CUBE) {
    complain("an array of cube maps: 1D, 2D and 3D arrays and layers of the first two are allowed");
    return fail(hipErrorNotSupported);
  }
  hipArray array{};
  array.desc = *desc;
  array.width = unsigned(width), array.height = unsigned(height), array.depth = unsigned(depth);
  array.Format = format, array.NumChannels = channels, array.flags = flags;
  array.pitch = (width * array.element() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (hipError_t error = hipMalloc(&array.data, array.pitch * array.rows() * (depth ? depth : 1))) return error;
  *made = new hipArray(array);
  return hipSuccess;
}

hipError_t destroy(hipArray* array) {
  if (!array) return fail(hipErrorInvalidValue);
  hipError_t error = hipFree(array->data);
  delete array;
  return error;
}

hipError_t describe(void** made, Request& request, const Object& object) {
  if (hipError_t error = write_words(request, made)) return error;
  std::lock_guard<std::mutex> held(mutex);
  objects[*made] = object;
  return hipSuccess;
}
}  // namespace

hipError_t write_words(const Request& request, void** at) {
  *at = nullptr;
  Answer answer = ask(request);
  if (answer.status) return fail(answer.status);
  void* words = nullptr;
  if (hipError_t error = hipMalloc(&words, answer.body.size())) return error;
  if (hipError_t error = settle()) return fail(error);  // memory that was freed may still be in use
  memcpy(words, answer.body.data(), answer.body.size());
  *at = words;
  return hipSuccess;
}

Request image_request(const void* at, unsigned dimensions, size_t width, size_t height, size_t depth, size_t layers, size_t pitch) {
  Request request(OP_IMAGE);
  request.put(reinterpret_cast<uint64_t>(at)).put<uint32_t>(dimensions);
  for (size_t value : {width, height, depth, layers, pitch}) request.put<uint32_t>(uint32_t(value));
  return request;
}

namespace {
// The part of a request that a resource says: its memory and its format; false where it says nothing that is allowed.
hipError_t ask_of_resource(const hipResourceDesc& r, Request* request, hipChannelFormatDesc* desc) {
  switch (r.resType) {
    case RESOURCE_ARRAY: {
      const hipArray* a = r.res.array;
      if (!a) return hipErrorInvalidValue;
      *desc = a->desc;
      bool layered = a->flags & LAYERED;
      unsigned dimensions = a->depth && !layered ? 3 : a->height ? 2 : 1;
      *request = image_request(a->data, dimensions, a->width, a->rows(), a->depth ? a->depth : 1, layered ? a->depth : 0, a->pitch);
      return hipSuccess;
    }
    case RESOURCE_LINEAR: {
      const auto& l = r.res.linear;
      *desc = l.desc;
      size_t element = size_t(l.desc.x + l.desc.y + l.desc.z + l.desc.w) / 8;
      if (!l.devPtr || !element) return hipErrorInvalidValue;
      *request = image_request(l.devPtr, 0, l.sizeInBytes / element, 1, 1, 0, 0);
      return hipSuccess;
    }
    case RESOURCE_PITCH_2D: {
      const auto& p = r.res.pitch2D;
      *desc = p.desc;
      if (!p.devPtr) return hipErrorInvalidValue;
      *request = image_request(p.devPtr, 2, p.width, p.height, 1, 0, p.pitchInBytes);
      return hipSuccess;
    }
    default:
      complain("a texture of resource type %d: array, linear and pitch2D are allowed", r.resType);
      return hipErrorNotSupported;
  }
}

// Copies between rows of an array, from byte x of row y on, and bytes without gaps.
hipError_t copy_along(hipArray* array, size_t x, size_t y, char* plain, size_t size, bool to_array) {
  if (!array || !plain) return fail(hipErrorInvalidValue);
  size_t row = array->width * array->element();
  if (x > row || y * row + x + size > row * array->rows()) return fail(hipErrorInvalidValue);
  while (size) {
    size_t part = row - x < size ? row - x : size;
    char* at = static_cast<char*>(array->data) + y * array->pitch + x;
    if (hipError_t error = copy(to_array ? at : plain, to_array ? plain : at, part, nullptr, true)) return error;
    plain += part, size -= part, x = 0, y++;
  }
  return hipSuccess;
}

hipError_t copy_box(hipArray* array, size_t x, size_t y, char* plain, size_t pitch, size_t width, size_t height,
                    bool to_array, hipStream_t stream, bool blocking) {
  if (!array || !plain || !array->holds_bytes(x, y, width, height)) return fail(hipErrorInvalidValue);
  char* at = static_cast<char*>(array->data) + y * array->pitch + x;
  return to_array ? copy_rows(at, array->pitch, 0, plain, pitch, 0, width, height, 1, stream, blocking)
                  : copy_rows(plain, pitch, 0, at, array->pitch, 0, width, height, 1, stream, blocking);
}
}  // namespace

// --- arrays
API hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }
API hipError_t hipMallocArray(hipArray** array, const hipChannelFormatDesc* desc, size_t width, size_t height, unsigned flags) {
  if (flags & LAYERED) return fail(hipErrorInvalidValue);  // hipMalloc3DArray says how many layers
  return make(array, desc, width, height, 0, flags);
}
API hipError_t hipMalloc3DArray(hipArray** array, const hipChannelFormatDesc* desc, hipExtent e, unsigned flags) {
  if (flags & LAYERED && !e.depth) return fail(hipErrorInvalidValue);
  return make(array, desc, e.width, e.height, e.depth, flags);
}
API hipError_t hipFreeArray(hipArray* array) { return destroy(array); }
API hipError_t hipArray3DCreate(hipArray** array, const HIP_ARRAY3D_DESCRIPTOR* d) {
  if (!d) return fail(hipErrorInvalidValue);
  for (const auto& one : FORMATS)
    if (one.format == d->Format) {
      int bits[4] = {};
      for (unsigned c = 0; c < 4 && c < d->NumChannels; c++) bits[c] = one.bits;
      hipChannelFormatDesc desc{bits[0], bits[1], bits[2], bits[3], one.kind};
      return make(array, &desc, d->Width, d->Height, d->Depth, d->Flags);
    }
  return fail(hipErrorInvalidValue);
}
API hipError_t hipArrayCreate(hipArray** array, const HIP_ARRAY_DESCRIPTOR* d) {
  if (!d) return fail(hipErrorInvalidValue);
  HIP_ARRAY3D_DESCRIPTOR whole{d->Width, d->Height, 0, d->Format, d->NumChannels, 0};
  return hipArray3DCreate(array, &whole);
}
API hipError_t hipArrayDestroy(hipArray* array) { return destroy(array); }
API hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR* d, hipArray* a) {
  if (!d || !a) return fail(hipErrorInvalidValue);
  *d = {a->width, a->height, a->depth, a->Format, a->NumChannels, a->flags};
  return hipSuccess;
}
API hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR* d, hipArray* a) {
  if (!d || !a) return fail(hipErrorInvalidValue);
  *d = {a->width, a->height, a->Format, a->NumChannels};
  return hipSuccess;
}
API hipError_t hipArrayGetInfo(hipChannelFormatDesc* desc, hipExtent* extent, unsigned* flags, hipArray* a) {
  if (!a) return fail(hipErrorInvalidValue);
  if (desc) *desc = a->desc;
  if (extent) *extent = {a->width, a->height, a->depth};
  if (flags) *flags = a->flags;
  return hipSuccess;
}
API hipError_t hipGetChannelDesc(hipChannelFormatDesc* desc, const hipArray* a) {
  if (!desc || !a) return fail(hipErrorInvalidValue);
  *desc = a->desc;
  return hipSuccess;
}

// --- copies. x counts bytes, y rows.
#define TO_ARRAY(name, parameters, stream, blocking)                                                                \
  API hipError_t name parameters {                                                                                 \
    return copy_box(a, x, y, static_cast<char*>(const_cast<void*>(p)), pitch, w, h, true, stream, blocking);        \
  }
TO_ARRAY(hipMemcpy2DToArray, (hipArray* a, size_t x, size_t y, const void* p, size_t pitch, size_t w, size_t h, hipMemcpyKind), nullptr, true)
TO_ARRAY(hipMemcpy2DToArray_spt, (hipArray* a, size_t x, size_t y, const void* p, size_t pitch, size_t w, size_t h, hipMemcpyKind), nullptr, true)
TO_ARRAY(hipMemcpy2DToArrayAsync, (hipArray* a, size_t x, size_t y, const void* p, size_t pitch, size_t w, size_t h, hipMemcpyKind, hipStream_t q), q, false)
TO_ARRAY(hipMemcpy2DToArrayAsync_spt, (hipArray* a, size_t x, size_t y, const void* p, size_t pitch, size_t w, size_t h, hipMemcpyKind, hipStream_t q), q, false)
#define FROM_ARRAY(name, parameters, stream, blocking)                                                         \
  API hipError_t name parameters {                                                                            \
    return copy_box(const_cast<hipArray*>(a), x, y, static_cast<char*>(p), pitch, w, h, false, stream, blocking); \
  }
FROM_ARRAY(hipMemcpy2DFromArray, (void* p, size_t pitch, const hipArray* a, size_t x, size_t y, size_t w, size_t h, hipMemcpyKind), nullptr, true)
FROM_ARRAY(hipMemcpy2DFromArray_spt, (void* p, size_t pitch, const hipArray* a, size_t x, size_t y, size_t w, size_t h, hipMemcpyKind), nullptr, true)
FROM_ARRAY(hipMemcpy2DFromArrayAsync, (void* p, size_t pitch, const hipArray* a, size_t x, size_t y, size_t w, size_t h, hipMemcpyKind, hipStream_t q), q, false)
FROM_ARRAY(hipMemcpy2DFromArrayAsync_spt, (void* p, size_t pitch, const hipArray* a, size_t x, size_t y, size_t w, size_t h, hipMemcpyKind, hipStream_t q), q, false)
API hipError_t hipMemcpyToArray(hipArray* a, size_t x, size_t y, const void* p, size_t n, hipMemcpyKind) {
  return copy_along(a, x, y, static_cast<char*>(const_cast<void*>(p)), n, true);
}
API hipError_t hipMemcpyFromArray(void* p, const hipArray* a, size_t x, size_t y, size_t n, hipMemcpyKind) {
  return copy_along(const_cast<hipArray*>(a), x, y, static_cast<char*>(p), n, false);
}
API hipError_t hipMemcpyFromArray_spt(void* p, const hipArray* a, size_t x, size_t y, size_t n, hipMemcpyKind kind) {
  return hipMemcpyFromArray(p, a, x, y, n, kind);
}
API hipError_t hipMemcpyHtoA(hipArray* a, size_t x, const void* p, size_t n) {
  return copy_along(a, x, 0, static_cast<char*>(const_cast<void*>(p)), n, true);
}
API hipError_t hipMemcpyAtoH(void* p, hipArray* a, size_t x, size_t n) {
  return copy_along(a, x, 0, static_cast<char*>(p), n, false);
}
API hipError_t hipMemcpy2DArrayToArray(hipArray* to, size_t tx, size_t ty, const hipArray* from, size_t fx, size_t fy, size_t w,
                                       size_t h, hipMemcpyKind) {
  if (!to || !from || !from->holds_bytes(fx, fy, w, h)) return fail(hipErrorInvalidValue);
  return copy_box(to, tx, ty, static_cast<char*>(from->data) + fy * from->pitch + fx, from->pitch, w, h, true, nullptr, true);
}

// --- textures and surfaces
API hipError_t hipCreateTextureObject(void** made, const hipResourceDesc* r, const hipTextureDesc* t, const void* view) {
  CONNECT();
  if (!made || !r || !t) return fail(hipErrorInvalidValue);
  *made = nullptr;
  const char* refused = view                ? "a view of its resource"
                        : t->sRGB           ? "sRGB"
                        : t->maxAnisotropy > 1 ? "an anisotropic filter"
                                            : nullptr;
  const float* border = t->borderColor;
  bool bordered = t->addressMode[0] == BORDER || t->addressMode[1] == BORDER || t->addressMode[2] == BORDER;
  if (bordered && (border[0] != 0 || border[1] != 0 || border[2] != 0 || border[3] != 0)) refused = "a border other than zeros";
  if (refused) {
    complain("a texture with %s: not there", refused);
    return fail(hipErrorNotSupported);
  }
  Request request(OP_IMAGE);
  hipChannelFormatDesc desc{};
  if (hipError_t error = ask_of_resource(*r, &request, &desc)) return fail(error);
  bool integers = desc.kind == SIGNED || desc.kind == UNSIGNED;
  bool fractions = t->readMode == 1 && integers;
  if (t->filterMode == 1 && integers && !fractions && r->resType != RESOURCE_LINEAR) {
    complain("a texture with a linear filter that is read as integers: read it as normalised floats, or take points");
    return fail(hipErrorInvalidValue);
  }
  for (int mode : t->addressMode)
    if (mode < 0 || mode > BORDER) return fail(hipErrorInvalidValue);
  int number = !fractions ? desc.kind : desc.kind == SIGNED ? NUMBER_SNORM : NUMBER_UNORM;
  request.put<uint32_t>(desc.x).put<uint32_t>(channels_of(desc)).put<uint32_t>(number);
  for (int mode : t->addressMode) request.put<uint32_t>(mode);
  request.put<uint32_t>(t->filterMode == 1).put<uint32_t>(t->normalizedCoords != 0);
  return describe(made, request, {*r, *t});
}
API hipError_t hipCreateSurfaceObject(void** made, const hipResourceDesc* r) {
  CONNECT();
  if (!made || !r || r->resType != RESOURCE_ARRAY) return fail(hipErrorInvalidValue);
  *made = nullptr;
  Request request(OP_IMAGE);
  hipChannelFormatDesc desc{};
  if (hipError_t error = ask_of_resource(*r, &request, &desc)) return fail(error);
  request.put<uint32_t>(desc.x).put<uint32_t>(channels_of(desc)).put<uint32_t>(desc.kind);
  for (int d = 0; d < 3; d++) request.put<uint32_t>(CLAMP_TO_EDGE);
  request.put<uint32_t>(0).put<uint32_t>(0);
  return describe(made, request, {*r, {}});
}
API hipError_t hipDestroyTextureObject(void* object) {
  if (!object) return hipSuccess;
  {
    std::lock_guard<std::mutex> held(mutex);
    if (!objects.erase(object)) return fail(hipErrorInvalidValue);
  }
  return hipFree(object);
}
API hipError_t hipDestroySurfaceObject(void* object) { return hipDestroyTextureObject(object); }
// ROCm 5's headers declare these two as functions of C++
API hipError_t create_surface(void**, const hipResourceDesc*) __asm__("_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc");
API hipError_t create_surface(void** made, const hipResourceDesc* r) { return hipCreateSurfaceObject(made, r); }
API hipError_t destroy_surface(void*) __asm__("_Z23hipDestroySurfaceObjectP13__hip_surface");
API hipError_t destroy_surface(void* object) { return hipDestroyTextureObject(object); }
// in those of 5.0 a surface is a number
API hipError_t create_numbered_surface(uint64_t*, const hipResourceDesc*) __asm__("_Z22hipCreateSurfaceObjectPyPK15hipResourceDesc");
API hipError_t create_numbered_surface(uint64_t* made, const hipResourceDesc* r) {
  return hipCreateSurfaceObject(reinterpret_cast<void**>(made), r);
}
API hipError_t destroy_numbered_surface(uint64_t) __asm__("_Z23hipDestroySurfaceObjecty");
API hipError_t destroy_numbered_surface(uint64_t object) { return hipDestroyTextureObject(reinterpret_cast<void*>(object)); }
API hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc* r, void* object) {
  std::lock_guard<std::mutex> held(mutex);
  auto found = objects.find(object);
  if (!r || found == objects.end()) return fail(hipErrorInvalidValue);
  *r = found->second.resource;
  return hipSuccess;
}
API hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc* t, void* object) {
  std::lock_guard<std::mutex> held(mutex);
  auto found = objects.find(object);
  if (!t || found == objects.end()) return fail(hipErrorInvalidValue);
  *t = found->second.texture;
  return hipSuccess;
}
