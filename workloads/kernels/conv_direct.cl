/* Convolution as it is defined, where products of tiles have little to do: few channels or filters of a group. A work-item
   computes a pixel of several filters. Weights come through the scalar cache and multiply what the lanes read: nothing
   goes through LDS, and no wavefront waits for another.

   Operands, preparation and windows are those of conv.cl; the name ends in the filters of a work-item. */
#include "conv.h"

#define AHEAD 4u /* steps of the sum whose elements are under way while as many are multiplied */

#define NAME conv_direct_1
#define FILTERS 1u
#include "conv_direct_body.h"

#define NAME conv_direct_4
#define FILTERS 4u
#include "conv_direct_body.h"

#define NAME conv_direct_8
#define FILTERS 8u
#include "conv_direct_body.h"

#define NAME conv_direct_16
#define FILTERS 16u
#include "conv_direct_body.h"

#define NAME conv_direct_32
#define FILTERS 32u
#include "conv_direct_body.h"
