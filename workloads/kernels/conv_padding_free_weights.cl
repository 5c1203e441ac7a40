/* Gradients of a convolution's weights without padding (conv_padding_free_weights.h). Names: wavefronts along channels and
   along filters. */
#include "conv_padding_free_weights.h"

#define CHANNELS 64u
#define POSITIONS 16u /* of a workgroup */

/* to[position][image][channel] = from[image][channel][position]. Workgroups: CHANNELS channels, POSITIONS positions, images. */
KERNEL void channels_last(global const float *restrict from, global float *restrict to, uint channels, uint positions,
                          uint images) {
  local float tile[POSITIONS * (CHANNELS + 1u)];
  const uint first_channel = group_id_x() * CHANNELS, first = group_id_y() * POSITIONS, image = group_id_z();
  const uint width = minimum(POSITIONS, positions - first), height = minimum(CHANNELS, channels - first_channel);
  const Buffer source = buffer_of(from + ((ulong)image * channels + first_channel) * positions, height * positions * 4u);
#pragma unroll
  for (uint i = 0; i < CHANNELS * POSITIONS / GROUP; ++i) {
    const uint number = i * GROUP + local_id_x(), channel = number / width, position = number - channel * width;
    const float value = read(source, where(channel < height, (channel * positions + first + position) * 4u), 0u);
    if (channel < CHANNELS) tile[position * (CHANNELS + 1u) + channel] = value;
  }
  workgroup_barrier();
  const uint lane = lane_id();
  global float *target = to + image * channels + first_channel;
  for (uint position = wavefront_id(); position < width; position += GROUP / WAVEFRONT_LANES)
    if (lane < height) target[(ulong)(first + position) * images * channels + lane] = tile[position * (CHANNELS + 1u) + lane];
}

#define NAME conv_padding_free_weights_2x2x8
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "conv_padding_free_weights_body.h"

#define NAME conv_padding_free_weights_2x1x4
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "conv_padding_free_weights_body.h"

#define NAME conv_padding_free_weights_1x1x4
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "conv_padding_free_weights_body.h"
