// Images and samplers as words in device memory, which the simulator describes (gpusim/jobs/hip/textures.py).
#pragma once
#include "connection.h"

// What a number of a texel is: hipChannelFormatKind, then signed and unsigned fractions.
enum TexelNumber { SIGNED, UNSIGNED, FLOAT, NUMBER_SNORM, NUMBER_UNORM };

// A request for an image's words; what its texels are and how it is sampled follows.
Request image_request(const void* at, unsigned dimensions, size_t width, size_t height, size_t depth, size_t layers, size_t pitch);
// Writes the words that the simulator answers to new device memory, which the caller frees.
hipError_t write_words(const Request& request, void** at);
