// A library's header: instructions that were inlined from it have the line of the user's call.
static inline int library_word(global int *word, int value) {
    return __opencl_atomic_fetch_add((volatile global atomic_int *)word, value, memory_order_relaxed, memory_scope_device);
}
static inline void library_add(global int *word, int value) {
    library_word(word, value);
}
