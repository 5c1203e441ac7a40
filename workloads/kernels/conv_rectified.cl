/* The products of conv.cl whose results go through a ReLU; `conv_prepare` of that file goes before them. */
#include "conv.h"

#define RECTIFIED

#define NAME conv_rectified_s1_2x2x8
#define EIGHT_CHANNELS 0
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "conv_body.h"

#define NAME conv_rectified_s1_2x1x8
#define EIGHT_CHANNELS 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "conv_body.h"

#define NAME conv_rectified_s1_1x2x8
#define EIGHT_CHANNELS 0
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "conv_body.h"

#define NAME conv_rectified_s1_1x1x8
#define EIGHT_CHANNELS 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "conv_body.h"

#define NAME conv_rectified_s1_2x1x4
#define EIGHT_CHANNELS 0
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "conv_body.h"

#define NAME conv_rectified_s1_1x1x4
#define EIGHT_CHANNELS 0
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "conv_body.h"

#define NAME conv_rectified_s8_2x2x8
#define EIGHT_CHANNELS 1
#define SWATHS_X 2
#define SWATHS_Y 2
#define ROWS 8
#include "conv_body.h"

#define NAME conv_rectified_s8_2x1x8
#define EIGHT_CHANNELS 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 8
#include "conv_body.h"

#define NAME conv_rectified_s8_1x2x8
#define EIGHT_CHANNELS 1
#define SWATHS_X 1
#define SWATHS_Y 2
#define ROWS 8
#include "conv_body.h"

#define NAME conv_rectified_s8_1x1x8
#define EIGHT_CHANNELS 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 8
#include "conv_body.h"

#define NAME conv_rectified_s8_2x1x4
#define EIGHT_CHANNELS 1
#define SWATHS_X 2
#define SWATHS_Y 1
#define ROWS 4
#include "conv_body.h"

#define NAME conv_rectified_s8_1x1x4
#define EIGHT_CHANNELS 1
#define SWATHS_X 1
#define SWATHS_Y 1
#define ROWS 4
#include "conv_body.h"
