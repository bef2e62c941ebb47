// The body for g++: kernels run on the CPU.
#pragma once

#define HIDET_DEVICE inline __attribute__((always_inline))

#include "hidet_cpu_types.h"
#include "hidet_cpu_thread.h"
#include "hidet_cpu_math.h"
#include "hidet_scalar.h"
#include "hidet_cpu_arithmetic.h"
#include "hidet_cpu_packed.h"
#include "hidet_cpu_strict.h"
#include "hidet_cpu_memory.h"
#include "hidet_cpu_atomics.h"
#include "hidet_cpu_accesses.h"
#include "hidet_cpu_warp.h"
#include "hidet_cpu_check.h"
#include "hidet_cpu_mma.h"
#include "hidet_cpu_async.h"
#include "hidet_cpu_roles.h"
#include "hidet_cpu_wgmma.h"
#include "hidet_cpu_tensor_copy.h"
#include "hidet_cpu_cluster.h"
#include "hidet_cpu_launch.h"
