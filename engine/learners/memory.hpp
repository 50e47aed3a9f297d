// Learners with a memory: their weights depend on more than L, so a run stores further numbers.
#pragma once

#include "../log.hpp"
#include "../random.hpp"
#include "../setup.hpp"

/// Declares a learner: its name in the enum `Memory` or `Counter`, the number of doubles in its memory for n arms, and
/// Noise::own if it draws from `run.noise`. The build reads these lines from the headers of this folder. The memory of an
/// HN_COUNTER is ArmCounts.
#define HN_MEMORY(name, size, noise) inline bool name(const Setup& s, Run& run);
#define HN_COUNTER(name, size, noise) inline bool name(const Setup& s, Run& run);

namespace hn::HN_ISA {

/// Return true if a settled step is not yet in the memory. Each step is processed once, so evaluating a copy
/// changes nothing.
HN_INLINE bool takes_in(Run& run) {
    const i64 before = run.taken < 0 ? 0 : run.taken;
    run.taken = run.settled;
    return run.settled != before;
}
/// True if the memory has never been used.
HN_INLINE bool is_new(const Run& run) { return run.taken < 0; }

}  // namespace hn::HN_ISA
