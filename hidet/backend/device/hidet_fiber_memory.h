// CPU: memory for the stacks of fibers and the dynamic shared memory of a block.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>

namespace hidet::cpu {

// Stacks are 64 KiB and a few cache lines apart: with a power of two the upper ends of all stacks,
// the parts in use, would compete for the same few sets of the cache.
constexpr std::size_t kStackBytes = (64 << 10) + 17 * 64;
constexpr std::size_t kGuardBytes = 64 << 10;  // a page, also where pages are large

// Memory of one thread of the operating system, kept from launch to launch: first a guard without
// access, then stacks, then what a block needs beside them.
//
// One guard serves all stacks. Each costs two of the 65530 mappings that a process may have, and g++
// bounds what a kernel needs: its frame is less than a stack (-Werror=frame-larger-than), and it does
// not recurse.
class Arena {
 public:
  // Have at least so many bytes; their contents are undefined. False if there is no memory.
  bool reserve(std::size_t needed) {
    if (needed <= bytes_) return true;
    release();
    void* region = mmap(nullptr, kGuardBytes + needed, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return false;
    mprotect(region, kGuardBytes, PROT_NONE);
    memory_ = static_cast<char*>(region) + kGuardBytes;
    bytes_ = needed;
    return true;
  }

  void release() {
    if (bytes_ != 0) munmap(memory_ - kGuardBytes, kGuardBytes + bytes_);
    bytes_ = 0;
  }

  char* memory() const { return memory_; }

 private:
  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// Under this key each thread finds its arena. g++ makes the static variable of an inline function
// with default visibility unique in the process (STB_GNU_UNIQUE), so the kernels of all libraries
// share one arena a thread. Change the name when the layout of Arena changes.
//
// Threads may end after this library has been unloaded, so the one library whose code ends their
// arenas is not.
__attribute__((visibility("default"))) inline pthread_key_t arena_key_v1() {
  static const pthread_key_t key = [] {
    pthread_key_t created;
    void (*const end)(void*) = [](void* arena) {
      static_cast<Arena*>(arena)->release();
      delete static_cast<Arena*>(arena);
    };
    Dl_info self;
    if (dladdr(reinterpret_cast<void*>(end), &self) != 0) {
      dlopen(self.dli_fname, RTLD_LAZY | RTLD_NODELETE);
    }
    pthread_key_create(&created, end);
    return created;
  }();
  return key;
}

// The arena of the running thread of the operating system.
static inline Arena& this_arena() {
  auto* arena = static_cast<Arena*>(pthread_getspecific(arena_key_v1()));
  if (arena == nullptr) {
    arena = new Arena;
    pthread_setspecific(arena_key_v1(), arena);
  }
  return *arena;
}

}  // namespace hidet::cpu
