// CPU: how one fiber leaves and another one goes on. The only assembly of the CPU's side.
#pragma once

namespace hidet::cpu {

// Where a fiber that does not run goes on.
struct Context {
  const void* resume;
  void* stack;
  void* frame;
};

// The block of which a fiber is part is kept in a register that the compiler uses for nothing else
// (hidet_fiber.h). It is the same for all fibers between which a thread of the operating system
// switches, and functions of other libraries preserve it.
//
// switch_context exchanges the program counter, the stack pointer and the frame pointer. All other
// registers are declared as overwritten, so the compiler keeps what is alive on the stack of the
// fiber that leaves, and finds it there when the fiber is back: nothing is saved that is not needed.

#if defined(__x86_64__)

#define HIDET_BLOCK_REGISTER "r15"

#define HIDET_OTHER_REGISTERS                                                                       \
  "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "xmm0", "xmm1",        \
      "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",    \
      "xmm13", "xmm14", "xmm15"
#if defined(__AVX512F__)
#define HIDET_AVX512_REGISTERS                                                                      \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",       \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5",     \
      "k6", "k7"
#else
#define HIDET_AVX512_REGISTERS
#endif

// Store in `from` where the caller is and go on at `to`. What follows runs when somebody switches
// to `from`. Nothing is written below the stack pointer, where functions may keep data (red zone).
static inline __attribute__((always_inline)) void switch_context(Context* from, const Context* to) {
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rax, 0(%0)\n\t"
      "movq %%rsp, 8(%0)\n\t"
      "movq %%rbp, 16(%0)\n\t"
      "movq 8(%1), %%rsp\n\t"
      "movq 16(%1), %%rbp\n\t"
      "jmpq *0(%1)\n"
      "1:"
      : "+D"(from), "+S"(to)
      :
      : HIDET_OTHER_REGISTERS HIDET_AVX512_REGISTERS, "cc", "memory");
}

// The start of a function at the upper end of a stack.
static inline Context new_context(void (*function)(), char* end) {
  // At its first instruction a function finds its return address on top of the stack, 8 bytes below
  // a multiple of 16 (System V ABI, 3.2.2). Ours never returns.
  void** top = reinterpret_cast<void**>(end) - 1;
  *top = nullptr;
  return {reinterpret_cast<const void*>(function), top, nullptr};
}

#elif defined(__aarch64__)

#define HIDET_BLOCK_REGISTER "x28"

#define HIDET_OTHER_REGISTERS                                                                       \
  "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",  \
      "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x30",           \
      "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",       \
      "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",    \
      "v27", "v28", "v29", "v30", "v31"
#if defined(__ARM_FEATURE_SVE)
#define HIDET_SVE_REGISTERS                                                                         \
  , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14",  \
      "p15"
#else
#define HIDET_SVE_REGISTERS
#endif

// As above. `hint #38` (bti jc) marks the label as a place that an indirect branch may go to.
static inline __attribute__((always_inline)) void switch_context(Context* from, const Context* to) {
  register Context* x0 asm("x0") = from;
  register const Context* x1 asm("x1") = to;
  asm volatile(
      "adr x16, 1f\n\t"
      "mov x17, sp\n\t"
      "stp x16, x17, [%0]\n\t"
      "str x29, [%0, #16]\n\t"
      "ldp x16, x17, [%1]\n\t"
      "ldr x29, [%1, #16]\n\t"
      "mov sp, x17\n\t"
      "br x16\n"
      "1:\n\t"
      "hint #38"
      : "+r"(x0), "+r"(x1)
      :
      : HIDET_OTHER_REGISTERS HIDET_SVE_REGISTERS, "cc", "memory");
}

// As above; the return address is in a register, and the stack pointer a multiple of 16.
static inline Context new_context(void (*function)(), char* end) {
  return {reinterpret_cast<const void*>(function), end, nullptr};
}

#else
#error "hidet runs kernels on x86-64 and aarch64 CPUs; others need their own switch_context"
#endif

// Bring the part of a stack that a fiber uses first into the cache.
static inline void prefetch_stack(const Context& context) {
  for (int line = 0; line < 2; ++line) {
    __builtin_prefetch(static_cast<const char*>(context.stack) + line * 64, 1);
  }
}

}  // namespace hidet::cpu
