// OpenCL's images and samplers: linear images in device memory, as HIP's arrays are, described by the simulator.
#include <algorithm>
#include <cmath>
#include <vector>

#include "memory.h"
#include "opencl.h"
#include "textures.h"

API hipError_t hipMalloc(void** pointer, size_t size);
API hipError_t hipFreeAsync(void* pointer, hipStream_t stream);

namespace {
enum : unsigned { IMAGE_2D = 0x10F1, IMAGE_3D, IMAGE_2D_ARRAY, IMAGE_1D, IMAGE_1D_ARRAY, IMAGE_1D_BUFFER };  // CL_MEM_OBJECT_...
enum : unsigned { CLAMP_NONE = 0x1130, CLAMP_EDGE, CLAMP, CLAMP_REPEAT, CLAMP_MIRROR };                      // CL_ADDRESS_...
enum : unsigned { NEAREST = 0x1140, LINEAR };
constexpr unsigned EDGE_CLAMP = 1;  // hipTextureAddressMode, as the requests have them: repeat, edge, mirror, border
constexpr unsigned CLAMPS[] = {3, 1, 3, 0, 2};
constexpr size_t ALIGNMENT = 256;

struct ClImageDescription {
  unsigned type;
  size_t width, height, depth, layers, row, slice;
  unsigned levels, samples;
  ClBuffer* memory;
};

constexpr struct { unsigned order, channels; } ORDERS[] = {{0x10B0, 1}, {0x10B2, 2}, {0x10B5, 4}};  // R, RG, RGBA
constexpr struct { unsigned type, bits; TexelNumber number; } CHANNELS[] = {
    {0x10D0, 8, NUMBER_SNORM}, {0x10D1, 16, NUMBER_SNORM}, {0x10D2, 8, NUMBER_UNORM}, {0x10D3, 16, NUMBER_UNORM},
    {0x10D7, 8, SIGNED},       {0x10D8, 16, SIGNED},       {0x10D9, 32, SIGNED},      {0x10DA, 8, UNSIGNED},
    {0x10DB, 16, UNSIGNED},    {0x10DC, 32, UNSIGNED},     {0x10DD, 16, FLOAT},       {0x10DE, 32, FLOAT}};

// How many numbers a texel has, how many bits each, and what they are; channels 0: there is no such format.
struct Texel {
  unsigned channels = 0, bits = 0;
  TexelNumber number = FLOAT;
};
Texel texel_of(const ClImageFormat& format) {
  Texel texel;
  unsigned channels = 0;
  for (const auto& one : ORDERS)
    if (one.order == format.order) channels = one.channels;
  for (const auto& one : CHANNELS)
    if (one.type == format.type) texel = {channels, one.bits, one.number};
  return texel;
}

bool is_array(unsigned type) { return type == IMAGE_1D_ARRAY || type == IMAGE_2D_ARRAY; }
unsigned dimensions_of(unsigned type) {
  return type == IMAGE_3D ? 3 : type == IMAGE_2D || type == IMAGE_2D_ARRAY ? 2 : 1;
}

// What is wrong with sizes, and with the rows of the program's memory; completes those of what the program left out.
int complete(ClImageDescription* d, size_t element, const void* host) {
  unsigned dimensions = dimensions_of(d->type);
  if (d->levels || d->samples || d->memory) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (dimensions < 2) d->height = 0;
  if (dimensions < 3) d->depth = 0;
  if (!is_array(d->type)) d->layers = 0;
  if (!d->width || (dimensions > 1 && !d->height) || (dimensions > 2 && !d->depth) || (is_array(d->type) && !d->layers))
    return CL_INVALID_IMAGE_SIZE;
  if (d->width > MOST_TEXELS || d->height > MOST_TEXELS || d->depth > MOST_LAYERS || d->layers > MOST_LAYERS)
    return CL_INVALID_IMAGE_SIZE;
  if (!host && (d->row || d->slice)) return CL_INVALID_IMAGE_DESCRIPTOR;
  size_t least = d->width * element, rows = std::max<size_t>(d->height, 1);
  if (!d->row) d->row = least;
  if (d->row < least || d->row % element) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (!d->slice) d->slice = d->row * rows;
  if ((d->depth || d->layers) && (d->slice < d->row * rows || d->slice % d->row)) return CL_INVALID_IMAGE_DESCRIPTOR;
  if (d->type == IMAGE_1D_ARRAY) d->row = d->slice;
  return CL_SUCCESS;
}

// A box of texels.
struct Box {
  size_t origin[3], region[3];

  Box(const size_t* from, const size_t* size) {
    std::copy(from, from + 3, origin), std::copy(size, size + 3, region);
  }
  bool lies_in(const ClImage* image) const {
    for (int axis = 0; axis < 3; axis++)
      if (!region[axis] || origin[axis] > image->extent(axis) || region[axis] > image->extent(axis) - origin[axis]) return false;
    return true;
  }
  size_t bytes(const ClImage* image) const { return image->element * region[0] * region[1] * region[2]; }
  size_t begin(const ClImage* image, size_t row, size_t slice) const {
    return origin[0] * image->element + origin[1] * row + origin[2] * slice;
  }
};

int copy_box(ClQueue* queue, const ClImage* image, const Box& box, char* to, size_t to_row, size_t to_slice,
             const char* from, size_t from_row, size_t from_slice, bool blocking) {
  return code_of(copy_rows(to, to_row, to_slice, from, from_row, from_slice, box.region[0] * image->element, box.region[1],
                           box.region[2], queue->stream, blocking));
}

// Between an image and rows of the program's memory or of a buffer; pitches of 0: without gaps.
int copy_plain(ClQueue* queue, Command what, ClImage* image, const size_t* origin, const size_t* region, char* plain, size_t row,
               size_t slice, bool to_image, bool blocking, unsigned count, ClEvent* const* events, ClEvent** event,
               ClBuffer* buffer = nullptr) {
  if (!origin || !region) return CL_INVALID_VALUE;
  Box box(origin, region);
  if (!box.lies_in(image)) return CL_INVALID_VALUE;
  size_t least = box.region[0] * image->element;
  if (image->is_line_array() && slice) row = slice;
  if (!row) row = least;
  if (!slice) slice = row * box.region[1];
  if (row < least || (box.region[2] > 1 && slice < row * box.region[1])) return CL_INVALID_VALUE;
  char* at = image->address + box.begin(image, image->row, image->slice);
  auto one = kept<ClBuffer>(image), other = buffer ? kept(buffer) : nullptr;
  return submit(queue, what, blocking, count, events, event, [=, one = one, other = other] {
    return to_image ? copy_box(queue, image, box, at, image->row, image->slice, plain, row, slice, blocking)
                    : copy_box(queue, image, box, plain, row, slice, at, image->row, image->slice, blocking);
  });
}

// Bytes from slice to slice, or layer to layer, as the program sees them.
size_t slice_pitch(const ClImage* image) {
  if (image->is_line_array()) return image->host ? image->host_row : image->row;
  return image->host ? image->host_slice : image->slice;
}

ClImage* image_of(ClBuffer* memory) { return valid(memory) ? memory->image : nullptr; }

uint16_t half_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t sign = bits >> 16 & 0x8000;
  float size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7E00;
  if (size >= 65520) return sign | 0x7C00;
  if (size < 0x1p-14f) return sign | uint16_t(std::nearbyint(size * 0x1p24f));
  int exponent;
  float fraction = std::frexp(size, &exponent);  // 0.5 to 1; a fraction that rounds up to 2048 carries into the exponent
  return sign | uint16_t((exponent + 14) << 10) + uint16_t(std::nearbyint(fraction * 2048)) - 1024;
}

// A texel of four numbers as the program gives them: float, or 32-bit integers for formats of such.
std::string texel_of(const ClImage* image, const void* color) {
  const Texel texel = texel_of(image->format);
  std::string bytes;
  for (unsigned channel = 0; channel < texel.channels; channel++) {
    float real;
    uint32_t bits;
    memcpy(&real, static_cast<const char*>(color) + 4 * channel, sizeof real);
    memcpy(&bits, static_cast<const char*>(color) + 4 * channel, sizeof bits);
    if (texel.number == NUMBER_UNORM) {
      bits = uint32_t(std::nearbyint(std::min(std::max(real, 0.0f), 1.0f) * ((1u << texel.bits) - 1)));
    } else if (texel.number == NUMBER_SNORM) {
      bits = uint32_t(int32_t(std::nearbyint(std::min(std::max(real, -1.0f), 1.0f) * ((1u << (texel.bits - 1)) - 1))));
    } else if (texel.number == FLOAT && texel.bits == 16) {
      bits = half_of(real);
    } else if (texel.bits < 32 && texel.number == SIGNED) {
      int32_t most = (1 << (texel.bits - 1)) - 1;
      bits = uint32_t(std::min(std::max(int32_t(bits), -most - 1), most));
    } else if (texel.bits < 32 && texel.number == UNSIGNED) {
      bits = std::min(bits, (1u << texel.bits) - 1);
    }
    bytes.append(reinterpret_cast<const char*>(&bits), texel.bits / 8);
  }
  return bytes;
}

int make(ClImage* image, const ClImageDescription& d, const void* host) {
  const Texel texel = texel_of(image->format);
  image->type = d.type, image->width = d.width, image->height = d.height, image->depth = d.depth, image->layers = d.layers;
  image->row = (d.width * image->element + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  image->slice = image->row * image->extent(1);
  image->size = image->slice * image->extent(2);
  if (hipError_t failed = hipMalloc(reinterpret_cast<void**>(&image->address), image->size)) return code_of(failed);
  Request request = image_request(image->address, dimensions_of(d.type), d.width, std::max<size_t>(d.height, 1),
                                  std::max<size_t>(d.depth, 1), d.layers, image->row);
  request.put<uint32_t>(texel.bits).put<uint32_t>(texel.channels).put<uint32_t>(texel.number);
  for (int axis = 0; axis < 3; axis++) request.put<uint32_t>(EDGE_CLAMP);
  request.put<uint32_t>(0).put<uint32_t>(0);  // a kernel's sampler says the filter
  if (hipError_t failed = write_words(request, &image->words)) return code_of(failed);
  image->host_row = d.row, image->host_slice = d.slice;
  if (!host) return CL_SUCCESS;
  return code_of(copy_rows(image->address, image->row, image->slice, static_cast<const char*>(host), d.row, d.slice,
                           d.width * image->element, image->extent(1), image->extent(2), nullptr, true));
}
}  // namespace

const char* image_type(const ClImage* image) {
  switch (image->type) {
    case IMAGE_1D: return "image1d_t";
    case IMAGE_1D_ARRAY: return "image1d_array_t";
    case IMAGE_2D: return "image2d_t";
    case IMAGE_2D_ARRAY: return "image2d_array_t";
    default: return "image3d_t";
  }
}

void release(ClSampler* sampler) {
  if (--sampler->held) return;
  hipFreeAsync(sampler->words, nullptr);
  release(sampler->context);
  delete sampler;
}

int unmap_image(ClQueue* queue, ClImage* image, const ClBuffer::Mapping& mapping) {
  const Box box(mapping.origin, mapping.region);
  return copy_box(queue, image, box, image->address + box.begin(image, image->row, image->slice), image->row, image->slice,
                  image->host + box.begin(image, image->host_row, image->host_slice), image->host_row, image->host_slice, false);
}

// --- images
API ClBuffer* clCreateImage(ClContext* context, uint64_t flags, const ClImageFormat* format, const ClImageDescription* given,
                            void* host, int* error) {
  if (!valid(context)) return made<ClBuffer>(nullptr, CL_INVALID_CONTEXT, error);
  if (!format) return made<ClBuffer>(nullptr, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, error);
  if (!given || given->type < IMAGE_2D || given->type > IMAGE_1D_BUFFER)
    return made<ClBuffer>(nullptr, CL_INVALID_IMAGE_DESCRIPTOR, error);
  if (given->type == IMAGE_1D_BUFFER || given->memory) {
    complain_of_missing("an image on a buffer's memory");
    return made<ClBuffer>(nullptr, CL_INVALID_IMAGE_DESCRIPTOR, error);
  }
  const Texel texel = texel_of(*format);
  if (!texel.channels) {
    complain("an image of channel order %#x and type %#x: R, RG and RGBA of 8, 16 and 32 bits are allowed", format->order,
             format->type);
    return made<ClBuffer>(nullptr, CL_IMAGE_FORMAT_NOT_SUPPORTED, error);
  }
  ClImageDescription description = *given;
  size_t element = texel.channels * texel.bits / 8;
  if (int wrong = complete(&description, element, host)) return made<ClBuffer>(nullptr, wrong, error);
  if (int wrong = code_of_flags(flags, host)) return made<ClBuffer>(nullptr, wrong, error);
  auto image = new ClImage(held(context));
  image->flags = flags, image->format = *format, image->element = element;
  image->host = flags & USE_HOST_PTR ? static_cast<char*>(host) : nullptr;
  int code = make(image, description, host);
  if (!code) return made<ClBuffer>(image, code, error);
  release(static_cast<ClBuffer*>(image));
  return made<ClBuffer>(nullptr, code, error);
}
API ClBuffer* clCreateImage2D(ClContext* context, uint64_t flags, const ClImageFormat* format, size_t width, size_t height,
                              size_t row, void* host, int* error) {
  const ClImageDescription description{IMAGE_2D, width, height, 0, 0, row, 0, 0, 0, nullptr};
  return clCreateImage(context, flags, format, &description, host, error);
}
API ClBuffer* clCreateImage3D(ClContext* context, uint64_t flags, const ClImageFormat* format, size_t width, size_t height,
                              size_t depth, size_t row, size_t slice, void* host, int* error) {
  const ClImageDescription description{IMAGE_3D, width, height, depth, 0, row, slice, 0, 0, nullptr};
  return clCreateImage(context, flags, format, &description, host, error);
}
API int clGetSupportedImageFormats(ClContext* context, uint64_t, unsigned type, unsigned place, ClImageFormat* formats,
                                   unsigned* count) {
  if (!valid(context)) return CL_INVALID_CONTEXT;
  if (type < IMAGE_2D || type > IMAGE_1D_BUFFER || (!place && formats)) return CL_INVALID_VALUE;
  unsigned number = 0;
  for (const auto& order : ORDERS)
    for (const auto& channel : CHANNELS) {
      if (type == IMAGE_1D_BUFFER) continue;
      if (formats && number < place) formats[number] = {order.order, channel.type};
      number++;
    }
  if (count) *count = number;
  return CL_SUCCESS;
}
API int clGetImageInfo(ClBuffer* memory, unsigned name, size_t place, void* to, size_t* size) {
  const ClImage* image = image_of(memory);
  if (!image) return CL_INVALID_MEM_OBJECT;
  Wanted wanted{place, to, size};
  bool has_slices = image->depth || image->layers;
  switch (name) {
    case 0x1110: return wanted.value<ClImageFormat>(image->format);
    case 0x1111: return wanted.value<size_t>(image->element);
    case 0x1112: return wanted.value<size_t>(image->host ? image->host_row : image->row);
    case 0x1113: return wanted.value<size_t>(has_slices ? slice_pitch(image) : 0);
    case 0x1114: return wanted.value<size_t>(image->width);
    case 0x1115: return wanted.value<size_t>(image->height);
    case 0x1116: return wanted.value<size_t>(image->depth);
    case 0x1117: return wanted.value<size_t>(image->layers);
    case 0x1118: return wanted.value<ClBuffer*>(nullptr);  // the buffer that it lies on
    case 0x1119: case 0x111A: return wanted.value<unsigned>(0);  // mip levels, samples
    default: return CL_INVALID_VALUE;
  }
}

// --- commands
API int clEnqueueReadImage(ClQueue* queue, ClBuffer* memory, unsigned blocking, const size_t* origin, const size_t* region,
                           size_t row, size_t slice, void* to, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  ClImage* image = image_of(memory);
  if (!image) return CL_INVALID_MEM_OBJECT;
  if (!to) return CL_INVALID_VALUE;
  return copy_plain(queue, READ_IMAGE, image, origin, region, static_cast<char*>(to), row, slice, false, blocking, count, events,
                    event);
}
API int clEnqueueWriteImage(ClQueue* queue, ClBuffer* memory, unsigned blocking, const size_t* origin, const size_t* region,
                            size_t row, size_t slice, const void* from, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  ClImage* image = image_of(memory);
  if (!image) return CL_INVALID_MEM_OBJECT;
  if (!from) return CL_INVALID_VALUE;
  char* plain = static_cast<char*>(const_cast<void*>(from));
  return copy_plain(queue, WRITE_IMAGE, image, origin, region, plain, row, slice, true, blocking, count, events, event);
}
API int clEnqueueCopyImage(ClQueue* queue, ClBuffer* from, ClBuffer* to, const size_t* from_origin, const size_t* to_origin,
                           const size_t* region, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  const ClImage *source = image_of(from), *target = image_of(to);
  if (!source || !target) return CL_INVALID_MEM_OBJECT;
  if (!from_origin || !to_origin || !region) return CL_INVALID_VALUE;
  if (source->format.order != target->format.order || source->format.type != target->format.type)
    return CL_IMAGE_FORMAT_MISMATCH;
  const Box read(from_origin, region), written(to_origin, region);
  if (!read.lies_in(source) || !written.lies_in(target)) return CL_INVALID_VALUE;
  return submit(queue, COPY_IMAGE, false, count, events, event, [=, one = kept(from), other = kept(to)] {
    return copy_box(queue, source, read, target->address + written.begin(target, target->row, target->slice), target->row,
                    target->slice, source->address + read.begin(source, source->row, source->slice), source->row,
                    source->slice, false);
  });
}
API int clEnqueueCopyImageToBuffer(ClQueue* queue, ClBuffer* from, ClBuffer* to, const size_t* origin, const size_t* region,
                                   size_t offset, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  ClImage* image = image_of(from);
  if (!image || !is_buffer(to)) return CL_INVALID_MEM_OBJECT;
  if (!origin || !region || !within(to, offset, Box(origin, region).bytes(image))) return CL_INVALID_VALUE;
  return copy_plain(queue, COPY_IMAGE_TO_BUFFER, image, origin, region, to->address + offset, 0, 0, false, false, count, events,
                    event, to);
}
API int clEnqueueCopyBufferToImage(ClQueue* queue, ClBuffer* from, ClBuffer* to, size_t offset, const size_t* origin,
                                   const size_t* region, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  ClImage* image = image_of(to);
  if (!image || !is_buffer(from)) return CL_INVALID_MEM_OBJECT;
  if (!origin || !region || !within(from, offset, Box(origin, region).bytes(image))) return CL_INVALID_VALUE;
  return copy_plain(queue, COPY_BUFFER_TO_IMAGE, image, origin, region, from->address + offset, 0, 0, true, false, count, events,
                    event, from);
}
API int clEnqueueFillImage(ClQueue* queue, ClBuffer* memory, const void* color, const size_t* origin, const size_t* region,
                           unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  ClImage* image = image_of(memory);
  if (!image) return CL_INVALID_MEM_OBJECT;
  if (!color || !origin || !region) return CL_INVALID_VALUE;
  const Box box(origin, region);
  if (!box.lies_in(image)) return CL_INVALID_VALUE;
  char* at = image->address + box.begin(image, image->row, image->slice);
  const hipPitchedPtr rows{at, image->row, image->width, image->extent(1)};
  const hipExtent extent{box.region[0] * image->element, box.region[1], box.region[2]};
  return submit(queue, FILL_IMAGE, false, count, events, event, [=, texel = texel_of(image, color), one = kept(memory)] {
    return code_of(fill_rows(rows, texel, extent, queue->stream, false));
  });
}
// What is mapped is the image's rows themselves, or a copy in the program's memory that it stands for.
API void* clEnqueueMapImage(ClQueue* queue, ClBuffer* memory, unsigned blocking, uint64_t flags, const size_t* origin,
                            const size_t* region, size_t* row, size_t* slice, unsigned count, ClEvent* const* events,
                            ClEvent** event, int* error) {
  if (int code = check_waits(queue, count, events)) return made<void>(nullptr, code, error);
  ClImage* image = image_of(memory);
  if (!image) return made<void>(nullptr, CL_INVALID_MEM_OBJECT, error);
  bool has_slices = image->depth || image->layers;
  if (!origin || !region || !row || (has_slices && !slice) || flags & ~(MAP_READ | MAP_WRITE | MAP_WRITE_INVALIDATE))
    return made<void>(nullptr, CL_INVALID_VALUE, error);
  const Box box(origin, region);
  if (!box.lies_in(image)) return made<void>(nullptr, CL_INVALID_VALUE, error);
  char* inside = image->address + box.begin(image, image->row, image->slice);
  *row = image->host ? image->host_row : image->row;
  size_t slice_bytes = slice_pitch(image);
  if (slice) *slice = has_slices ? slice_bytes : 0;
  char* bytes = image->host ? image->host + box.begin(image, *row, slice_bytes) : inside;
  size_t row_bytes = *row;
  int code = submit(queue, MAP_IMAGE, blocking, count, events, event, [=, one = kept(memory)] {
    if (image->host && !(flags & MAP_WRITE_INVALIDATE))
      return copy_box(queue, image, box, bytes, row_bytes, slice_bytes, inside, image->row, image->slice, blocking);
    int settled = code_of(settle());
    if (!settled && !(flags & MAP_WRITE_INVALIDATE)) went_over_link(queue, box.bytes(image), COPIED_FROM_DEVICE, blocking);
    return settled;
  });
  if (code) return made<void>(nullptr, code, error);
  ClBuffer::Mapping mapping{0, box.bytes(image), flags};
  std::copy(origin, origin + 3, mapping.origin), std::copy(region, region + 3, mapping.region);
  image->mapped.insert({bytes, mapping});
  return made<void>(bytes, CL_SUCCESS, error);
}

// --- samplers
API ClSampler* clCreateSampler(ClContext* context, unsigned normalized, unsigned addressing, unsigned filter, int* error) {
  if (!valid(context)) return made<ClSampler>(nullptr, CL_INVALID_CONTEXT, error);
  bool repeats = addressing == CLAMP_REPEAT || addressing == CLAMP_MIRROR;
  if (addressing < CLAMP_NONE || addressing > CLAMP_MIRROR || (filter != NEAREST && filter != LINEAR) || normalized > 1 ||
      (repeats && !normalized))
    return made<ClSampler>(nullptr, CL_INVALID_VALUE, error);
  auto sampler = new ClSampler(held(context), normalized, addressing, filter);
  Request request(OP_SAMPLER);
  request.put<uint32_t>(CLAMPS[addressing - CLAMP_NONE]).put<uint32_t>(filter == LINEAR).put<uint32_t>(normalized);
  hipError_t failed = write_words(request, &sampler->words);
  if (!failed) return made(sampler, CL_SUCCESS, error);
  release(sampler);
  return made<ClSampler>(nullptr, code_of(failed), error);
}
API int clRetainSampler(ClSampler* s) { return retain_if_valid(s); }
API int clReleaseSampler(ClSampler* s) { return release_if_valid(s); }
API int clGetSamplerInfo(ClSampler* sampler, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(sampler)) return CL_INVALID_SAMPLER;
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x1150: return wanted.value<unsigned>(sampler->held);
    case 0x1151: return wanted.value<ClContext*>(sampler->context);
    case 0x1152: return wanted.value<unsigned>(sampler->normalized);
    case 0x1153: return wanted.value<unsigned>(sampler->addressing);
    case 0x1154: return wanted.value<unsigned>(sampler->filter);
    default: return CL_INVALID_VALUE;
  }
}
