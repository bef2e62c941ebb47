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

// The known values of the tensors at some positions of a list.
struct Snapshot {
  GetItem get_item;
  Read read;
  std::ptrdiff_t offset;  // of what `read` takes in the object of a tensor
  std::ptrdiff_t count;
  const std::ptrdiff_t* positions;
  const std::uint64_t* known;
};

// Names, each with the dictionary to look it up in.
struct Names {
  NewList new_list;
  SetItem set_item;
  LookUp look_up;
  Release release;
  std::ptrdiff_t count;
  void* const* tables;
  void* const* names;
};

// Returns whether `read` returns the known values.
EXPORT int hidet_same_values(void* list, const Snapshot* snapshot) {
  try {
    for (std::ptrdiff_t i = 0; i < snapshot->count; ++i) {
      char* tensor = static_cast<char*>(snapshot->get_item(list, snapshot->positions[i]));
      if (snapshot->read(tensor + snapshot->offset) != snapshot->known[i]) return 0;
    }
  } catch (...) {
    return 0;
  }
  return 1;
}

// Returns a new list of tables[i][names[i]], or null with a Python exception set.
EXPORT void* hidet_look_up(const Names* names) {
  void* list = names->new_list(names->count);
  for (std::ptrdiff_t i = 0; list != nullptr && i < names->count; ++i) {
    void* value = names->look_up(names->tables[i], names->names[i]);
    if (value != nullptr) {
      names->set_item(list, i, value);
    } else {
      names->release(list);
      list = nullptr;
    }
  }
  return list;
}
