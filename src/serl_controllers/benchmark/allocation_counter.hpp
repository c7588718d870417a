// Counts heap allocations of the calling thread. Link into an executable, never into a library.
#pragma once

namespace serl_controllers {

/// Allocations (malloc, calloc, realloc, aligned_alloc and what is built on them) that this
/// thread makes while the object lives.
class AllocationCounter {
public:
  AllocationCounter() noexcept;
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  long count() const noexcept;
};

}  // namespace serl_controllers
