/* C = A.B with B compacted on the fly (ELLPACK-DIB through sparse loads) and A staged in LDS: see dib_tile.h.
   Variants by the columns a wavefront owns. */
#define COUNTED 0

#define KERNEL sgemm_dib_tiled_c1
#define COLUMNS 1
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_c2
#define COLUMNS 2
#include "dib_tile.h"

#define KERNEL sgemm_dib_tiled_c4
#define COLUMNS 4
#include "dib_tile.h"
