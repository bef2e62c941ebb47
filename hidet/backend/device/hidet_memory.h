// Memory, for both machines: for whom an atomic operation is one step, and addresses.
#pragma once

#include <cstdint>

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

// The address of a barrier, which is a number of 8 bytes with a sign or without.
struct BarrierPointer {
  long long* address;
  HIDET_DEVICE BarrierPointer(long long* p) : address(p) {}
  HIDET_DEVICE BarrierPointer(unsigned long long* p) : address(reinterpret_cast<long long*>(p)) {}
  HIDET_DEVICE operator long long*() const { return address; }
};

template <typename S>
HIDET_DEVICE long long address_of(const S* p) {
  return static_cast<long long>(reinterpret_cast<std::uintptr_t>(p));
}

}  // namespace hidet
