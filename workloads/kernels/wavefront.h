/* Work-item and wavefront helpers on compiler builtins alone: no device library is needed. */
#ifndef WAVEFRONT_H
#define WAVEFRONT_H

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef float float4_t __attribute__((ext_vector_type(4)));
typedef half half4_t __attribute__((ext_vector_type(4)));
typedef float float2_t __attribute__((ext_vector_type(2)));
typedef uint uint2_t __attribute__((ext_vector_type(2)));
typedef uint uint4_t __attribute__((ext_vector_type(4)));

#define WAVEFRONT_LANES 64u

static inline uint local_id_x(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline uint local_id_y(void) { return __builtin_amdgcn_workitem_id_y(); }
static inline uint group_id_x(void) { return __builtin_amdgcn_workgroup_id_x(); }
static inline uint group_id_y(void) { return __builtin_amdgcn_workgroup_id_y(); }

static inline uint group_id_z(void) { return __builtin_amdgcn_workgroup_id_z(); }

static inline uint minimum(uint a, uint b) { return a < b ? a : b; }

static inline uint maximum(uint a, uint b) { return a > b ? a : b; }

static inline uint lane_id(void) {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}

/* the wavefront's number in a one-dimensional workgroup, as a scalar */
static inline uint wavefront_id(void) {
  return (uint)__builtin_amdgcn_readfirstlane((int)(local_id_x() / WAVEFRONT_LANES));
}

/* one lane's value, as a scalar */
static inline uint broadcast(uint value, uint lane) { return (uint)__builtin_amdgcn_readlane((int)value, (int)lane); }

static inline uint scalar(uint value) { return (uint)__builtin_amdgcn_readfirstlane((int)value); }

/* lanes in which a < b, as a scalar mask (36: unsigned less than) */
static inline ulong lanes_below(uint a, uint b) { return __builtin_amdgcn_uicmp(a, b, 36); }

static inline uint count_bits(ulong mask) { return (uint)__builtin_popcountl(mask); }

/* one past the highest set bit, 0 for an empty mask */
static inline uint bit_length(ulong mask) { return mask ? 64u - (uint)__builtin_clzl(mask) : 0u; }

/* the value in a scalar register, of which the compiler knows nothing more */
static inline uint opaque_scalar(uint value) {
  __asm__("" : "+s"(value));
  return value;
}

/* vector value `a` passed on so that its users come after vector value `b` is complete */
static inline uint after(uint a, uint b) {
  __asm__ volatile("" : "+v"(a) : "v"(b));
  return a;
}

/* the scheduler moves nothing across */
static inline void keep_order(void) { __builtin_amdgcn_sched_barrier(0); }

/* the compiler moves no memory access across; one wavefront's LDS accesses then happen in program order */
static inline void compiler_fence(void) { __asm__ volatile("" ::: "memory"); }

/* *word += value, *word = min(*word, value): one DS instruction each */
static inline void atomic_add_local(local uint *word, uint value) {
  __scoped_atomic_fetch_add(word, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

static inline void atomic_min_local(local uint *word, uint value) {
  __scoped_atomic_fetch_min(word, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

/* LDS is shared by the workgroup: LDS accesses before the barrier are seen by all after it. The barrier is written in
   assembly because the compiler would wait for all outstanding loads at its own one, and prefetches cross it. */
static inline void workgroup_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __asm__ volatile("s_barrier" ::: "memory");
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

/* the barrier alone: whoever uses it has to know that no LDS access before it matters to others after it */
static inline void execution_barrier(void) { __asm__ volatile("s_barrier" ::: "memory"); }

#endif
