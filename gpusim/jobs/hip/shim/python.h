// Lines of a Python program from which kernels are launched.
#pragma once
#include <cstdint>

// The number of the line of the user's own Python code from which the calling thread has come here, as the simulator
// was told of it; 0: there is no interpreter in the process, or the thread runs no Python. Holds no lock of ours.
uint32_t python_line();
