/* C = A.B with B in ELLPACK-DIB and a count of non-zeros a column (software path, after dib_convert): see dib_tile.h.
   Variants by the columns a wavefront owns. */
#define COUNTED 1

#define KERNEL sgemm_dib_tiled_nnz_c1
#define COLUMNS 1
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_c2
#define COLUMNS 2
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_nnz_c4
#define COLUMNS 4
#include "dib_tile.h"
