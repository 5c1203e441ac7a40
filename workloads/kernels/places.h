/* Where the elements of arrays lie that are gone through as one: up to six axes, the last one first, in elements or in
   fours of them. */
#ifndef PLACES_H
#define PLACES_H

#include "elements.h"

#define AXES 6u

/* Sizes of all axes but the first, the last one first. */
typedef struct {
  Divisor size[AXES - 1u];
} Sizes;

typedef struct {
  uint of[AXES];
} Steps;

/* Coordinates of element `at`, the last axis first. */
INLINE void coordinates(uint at, const Sizes *sizes, uint found[AXES]) {
  for (uint k = 0; k < AXES - 1u; ++k) {
    const uint whole = quotient(at, sizes->size[k]);
    found[k] = remainder_of(at, whole, sizes->size[k]);
    at = whole;
  }
  found[AXES - 1u] = at;
}

INLINE uint place_of(const uint coordinate[AXES], const Steps *steps) {
  uint place = 0;
  for (uint k = 0; k < AXES; ++k) place += coordinate[k] * steps->of[k];
  return place;
}

#endif
