/* The kernels of conv_direct.cl with a ReLU, or the mask of its gradient, as their last step. */
#define RECTIFIED
#include "conv.h"

#define AHEAD 4u /* steps of the sum whose elements are under way while as many are multiplied */

#define NAME conv_direct_rectified_1
#define FILTERS 1u
#include "conv_direct_body.h"

#define NAME conv_direct_rectified_4
#define FILTERS 4u
#include "conv_direct_body.h"

#define NAME conv_direct_rectified_8
#define FILTERS 8u
#include "conv_direct_body.h"

#define NAME conv_direct_rectified_16
#define FILTERS 16u
#include "conv_direct_body.h"

#define NAME conv_direct_rectified_32
#define FILTERS 32u
#include "conv_direct_body.h"
