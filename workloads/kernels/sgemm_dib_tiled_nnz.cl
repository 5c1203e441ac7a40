/* C = A.B with B in ELLPACK-DIB and a count of non-zeros a column (software path, after dib_convert): see dib_tile.h.
   Variants by the rows of a workgroup and the columns of a wavefront. */
#define COUNTED 1

#define KERNEL sgemm_dib_tiled_nnz_256x1
#define LANE_ROWS 4
#define COLUMNS 1
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_256x2
#define LANE_ROWS 4
#define COLUMNS 2
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_256x4
#define LANE_ROWS 4
#define COLUMNS 4
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_128x1
#define LANE_ROWS 2
#define COLUMNS 1
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_128x2
#define LANE_ROWS 2
#define COLUMNS 2
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_128x4
#define LANE_ROWS 2
#define COLUMNS 4
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_64x1
#define LANE_ROWS 1
#define COLUMNS 1
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_64x2
#define LANE_ROWS 1
#define COLUMNS 2
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_64x4
#define LANE_ROWS 1
#define COLUMNS 4
#include "dib_tile.h"
