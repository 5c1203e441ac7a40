/* C = A.B with B compacted on the fly (ELLPACK-DIB through sparse loads) and A staged in LDS: see dib_tile.h.
   Variants by the rows of a workgroup and the columns of a wavefront. */
#define COUNTED 0

#define KERNEL sgemm_dib_tiled_256x1
#define LANE_ROWS 4
#define COLUMNS 1
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_256x2
#define LANE_ROWS 4
#define COLUMNS 2
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_256x4
#define LANE_ROWS 4
#define COLUMNS 4
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_128x1
#define LANE_ROWS 2
#define COLUMNS 1
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_128x2
#define LANE_ROWS 2
#define COLUMNS 2
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_128x4
#define LANE_ROWS 2
#define COLUMNS 4
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_64x1
#define LANE_ROWS 1
#define COLUMNS 1
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_64x2
#define LANE_ROWS 1
#define COLUMNS 2
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_64x4
#define LANE_ROWS 1
#define COLUMNS 4
#include "dib_tile.h"
