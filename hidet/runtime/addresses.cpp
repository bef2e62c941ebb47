// Reads the addresses of all tensors of a list in one call of native code.
//
// It needs no headers of Python or of torch: both functions that it calls come as pointers.

#include <cstddef>
#include <cstdint>

using GetItem = void* (*)(void* list, std::ptrdiff_t position);  // PyList_GetItem
using DataPtr = void* (*)(void* tensor);                         // throws what has no data

extern "C" __attribute__((visibility("default"))) int hidet_same_addresses(
    void* list, std::ptrdiff_t count, const std::uint64_t* known, GetItem get_item,
    DataPtr data_ptr) {
  try {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      if (reinterpret_cast<std::uint64_t>(data_ptr(get_item(list, i))) != known[i]) return 0;
    }
  } catch (...) {
    return 0;
  }
  return 1;
}
