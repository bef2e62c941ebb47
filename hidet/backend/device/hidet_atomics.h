// Atomic operations, for both machines: for whom they are one step, and what they take.
#pragma once

namespace hidet {

// For whom an operation is one step: the block, the GPU, all of the machine. On the CPU all threads
// are equal.
enum class Scope { cta, gpu, sys };

// The type of another argument, to which the value is converted: a sign may differ.
template <typename T>
struct Same {
  using type = T;
};
template <typename T>
using same = typename Same<T>::type;

}  // namespace hidet
