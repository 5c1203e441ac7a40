/* attention.cl for heads of 128 values. */
#include "attention.h"

BY_KEY(128)
