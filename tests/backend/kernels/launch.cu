// Coordinates, arguments by value, and programmatic launch.
#include "hidet.h"

extern "C" __global__ void __launch_bounds__(24)
coordinates(int* __restrict__ out, const int width, const long long height, const float factor,
            const bool flag) {
  hidet::grid_dependency_wait();
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < width && y < height) {
    const int sizes = gridDim.x + 10 * gridDim.y + 100 * gridDim.z;
    out[(z * (int)height + y) * width + x] =
        sizes + 1000 * hidet::cast<int>(factor) * (x + y + z) + (flag ? 1 : 0);
  }
  hidet::launch_dependents();
}
HIDET_KERNEL(coordinates, 4, 3, 2, HIDET_INDEPENDENT)

extern "C" __global__ void no_arguments() {}
HIDET_KERNEL(no_arguments, 1, 1, 1, HIDET_INDEPENDENT)
