// What Python is too slow for in a call: looking hundreds of weights up in their modules, comparing
// them with those of the last call, and launching a CUDA Graph.
//
// Needs no headers of Python or torch: the interpreter exports the functions that are declared here,
// and torch's are passed as pointers.

#include <cstddef>
#include <cstdint>

extern "C" {
void* PyBool_FromLong(long value);
char* PyBytes_AsString(void* bytes);
void* PyDict_GetItemWithError(void* dict, void* key);  // borrowed; null, maybe without an error
int PyDict_Next(void* dict, std::ptrdiff_t* position, void** key, void** value);  // borrowed
void PyErr_Clear();
void* PyEval_SaveThread();
void PyEval_RestoreThread(void* thread);
void* PyList_GetItem(void* list, std::ptrdiff_t position);  // borrowed
std::ptrdiff_t PyList_Size(void* list);                     // -1 and an error for other objects
void* PyLong_AsVoidPtr(void* number);
void* PyLong_FromLong(long value);
void* PyTuple_GetItem(void* tuple, std::ptrdiff_t position);
}

// PyMethodDef
struct Method {
  const char* name;
  void* (*function)(void* self, void* argument);
  int flags = 8;  // METH_O
  const char* doc = nullptr;
};

#define METHOD(name) \
  extern "C" __attribute__((visibility("default"))) Method hidet_##name = {#name, name};

using Read = std::uint64_t (*)(void* tensor);  // may throw

constexpr std::uint64_t no_version = -1;

// Known addresses and version counters of tensors.
struct Snapshot {
  Read address;
  Read version;
  std::ptrdiff_t offset;  // of what `version` takes in the object of a tensor
  std::ptrdiff_t count;
  const std::uint64_t* addresses;
  const std::uint64_t* versions;  // or `no_version`
  void* look_up;                  // the object that stands for tables[i][keys[i]], or null
  void* const* tables;
  void* const* keys;
  const std::ptrdiff_t* positions;  // of the keys in their tables when these were recorded

  // Returns a value in a table, borrowed; null, maybe with an error, if it has none.
  void* find(std::ptrdiff_t i) const {
    std::ptrdiff_t position = positions[i];
    void *key, *value;
    if (PyDict_Next(tables[i], &position, &key, &value) && key == keys[i]) return value;
    return PyDict_GetItemWithError(tables[i], keys[i]);
  }
};

struct GraphLaunch {
  int (*launch)(void* executable, void* stream);
  void* executable;
};

// Returns the structure of a function whose `self` is a tuple that begins with its bytes.
template <class T>
static const T& state(void* self) {
  return *reinterpret_cast<const T*>(PyBytes_AsString(PyTuple_GetItem(self, 0)));
}

// References are borrowed, which is safe: no code of Python runs while they are used.
static bool are_known(const Snapshot& known, void* tensors) try {
  const bool is_list = tensors != known.look_up;
  if (is_list && PyList_Size(tensors) != known.count) return false;
  for (std::ptrdiff_t i = 0; i < known.count; ++i) {
    void* const tensor = is_list ? PyList_GetItem(tensors, i) : known.find(i);
    if (tensor == nullptr || known.address(tensor) != known.addresses[i]) return false;
    if (known.versions[i] == no_version) continue;
    if (known.version(static_cast<char*>(tensor) + known.offset) != known.versions[i]) return false;
  }
  return true;
} catch (...) {  // no tensor, or one without memory or version counter
  return false;
}

// Returns whether tensors, in a list or to be looked up, are those of a `Snapshot`.
static void* matches(void* self, void* tensors) {
  const bool known = are_known(state<Snapshot>(self), tensors);
  PyErr_Clear();
  return PyBool_FromLong(known);
}

// Launches the graph of a `GraphLaunch` on a stream, and returns the status.
static void* launch(void* self, void* stream_handle) {
  const GraphLaunch& graph = state<GraphLaunch>(self);
  void* const stream = PyLong_AsVoidPtr(stream_handle);
  void* const thread = PyEval_SaveThread();  // a launch waits while the queue of the stream is full
  const int status = graph.launch(graph.executable, stream);
  PyEval_RestoreThread(thread);
  return PyLong_FromLong(status);
}

METHOD(matches)
METHOD(launch)
