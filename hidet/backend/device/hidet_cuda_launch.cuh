// CUDA: what concerns a kernel as a whole.
#pragma once

// The host launches the kernel itself; see hidet_cpu_launch.h for what g++ makes of this line.
#define HIDET_KERNEL(name, x, y, z, mode)
#define HIDET_CHECKS_AHEAD(name, ...)
#define HIDET_CLUSTER_KERNEL(name, x, y, z, cluster_x, cluster_y, cluster_z)

// The checks of the strict mode have bodies for the CPU only (hidet_cpu_strict.h).
#define HIDET_SOURCE_LINES(...) static_assert(false, "kernels of the strict mode run on the CPU");

// Memory of the block, of the size that the launch states, as the pointer `name`.
#define HIDET_DYNAMIC_SHARED(type, name)                                       \
  extern __shared__ __align__(1024) unsigned char hidet_dynamic_shared[];      \
  type* const name = reinterpret_cast<type*>(hidet_dynamic_shared)

namespace hidet {

// A part of that memory, from a byte on, as an array: dynamic_shared<half[128][64]>(1024).
template <typename Array>
HIDET_DEVICE Array& dynamic_shared(int offset) {
  extern __shared__ __align__(1024) unsigned char hidet_dynamic_shared[];
  return *reinterpret_cast<Array*>(hidet_dynamic_shared + offset);
}

// Programmatic dependent launch, since sm_90 (PTX ISA, griddepcontrol): a kernel may start while its
// predecessor still runs, and waits here until that one has finished and its writes can be seen.
// Without the launch attribute, and on older GPUs, it has finished from the start.
HIDET_DEVICE void grid_dependency_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// From here on the next kernel may start.
HIDET_DEVICE void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace hidet
