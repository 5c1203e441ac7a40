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

/* dweight[filter][channel][tap] = the sum over the splits of sums[split][tap][filter][channel]. Pairs: of a filter and a
   channel, 1 << log_pairs of a workgroup; tile: all their taps. */
KERNEL void taps_last(global const float *restrict sums, global float *restrict dweight, local float *restrict tile,
                      uint pairs, uint splits, uint log_pairs, uint taps) {
  const uint first = group_id_x() << log_pairs, used = minimum(1u << log_pairs, pairs - first);
  for (uint number = local_id_x(); number < taps << log_pairs; number += GROUP) {
    const uint tap = number >> log_pairs, pair = number & ((1u << log_pairs) - 1u);
    if (pair >= used) continue;
    global const float *from = sums + (ulong)tap * pairs + first + pair;
    float sum = 0.0f;
    for (uint split = 0; split < splits; ++split) sum += from[(ulong)split * taps * pairs];
    tile[pair * taps + tap] = sum;
  }
  workgroup_barrier();
  for (uint number = local_id_x(); number < used * taps; number += GROUP) dweight[(ulong)first * taps + number] = tile[number];
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
