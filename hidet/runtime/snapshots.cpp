// Reads hundreds of tensors in one native call: compares their addresses or version counters with
// known ones, and looks them up in the dictionaries of their modules.
//
// Needs no headers of Python or torch: their functions are passed as pointers.

#include <cstddef>
#include <cstdint>

using GetItem = void* (*)(void* list, std::ptrdiff_t position);               // PyList_GetItem
using Read = std::uint64_t (*)(void* tensor);                                 // may throw
using NewList = void* (*)(std::ptrdiff_t size);                               // PyList_New
using SetItem = int (*)(void* list, std::ptrdiff_t position, void* value);    // PyList_SetItem
using LookUp = void* (*)(void* table, void* key);                             // PyObject_GetItem
using Release = void (*)(void* object);                                       // Py_DecRef

#define EXPORT extern "C" __attribute__((visibility("default")))

// Returns whether `read` returns the known values. `offset` is where, in the object of a tensor,
// what `read` takes begins.
EXPORT int hidet_same_values(GetItem get_item, Read read, std::ptrdiff_t offset, void* list,
                             std::ptrdiff_t count, const std::ptrdiff_t* positions,
                             const std::uint64_t* known) {
  try {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      char* tensor = static_cast<char*>(get_item(list, positions[i]));
      if (read(tensor + offset) != known[i]) return 0;
    }
  } catch (...) {
    return 0;
  }
  return 1;
}

// Returns a new list of tables[i][names[i]], or null with a Python exception set.
EXPORT void* hidet_look_up(NewList new_list, SetItem set_item, LookUp look_up, Release release,
                           std::ptrdiff_t count, void* const* tables, void* const* names) {
  void* list = new_list(count);
  for (std::ptrdiff_t i = 0; list != nullptr && i < count; ++i) {
    void* value = look_up(tables[i], names[i]);
    if (value != nullptr) {
      set_item(list, i, value);
    } else {
      release(list);
      list = nullptr;
    }
  }
  return list;
}
