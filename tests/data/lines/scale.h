// Inlined into the kernels of lines.cl, so that an instruction may come from a file other than its kernel's.
static inline float scaled(float x) {
    return x * 3.0f + 0.5f;
}
