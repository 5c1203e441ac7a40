// Functions of a library that is not there, for programs that are linked with it and can do without.
#pragma once
#include <cstdio>

#define STAND_IN extern "C" __attribute__((visibility("default"))) int
#define SUCCEEDING(name) \
  STAND_IN name() { return 0; }
#define MISSING(name, library, code)                                    \
  STAND_IN name() {                                                     \
    static bool said = false;                                           \
    if (!said) fprintf(stderr, "gpusim: " #name ": " library " is not there\n"); \
    said = true;                                                        \
    return code;                                                        \
  }
