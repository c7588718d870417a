#include "allocation_counter.hpp"

#include <cstddef>

namespace {
// Initialised statically: reading them may not allocate, or malloc would call itself.
thread_local bool counting = false;
thread_local long allocations = 0;

void note() noexcept {
  if (counting) ++allocations;
}
}  // namespace

// glibc's own entry points stay reachable under these names.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t number, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  note();
  return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
  note();
  return __libc_calloc(number, size);
}

void* realloc(void* block, std::size_t size) {
  note();
  return __libc_realloc(block, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  note();
  *block = __libc_memalign(alignment, size);
  return *block == nullptr;
}
}

namespace serl_controllers {

AllocationCounter::AllocationCounter() noexcept {
  allocations = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

long AllocationCounter::count() const noexcept { return allocations; }

}  // namespace serl_controllers
