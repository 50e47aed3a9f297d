// Room to work in: kept by the thread, made larger when it must be, never smaller.
#pragma once

#include "types.hpp"

namespace hn {

/// `count` doubles, aligned to 64 bytes, not cleared, good until the next call on this thread; null when there is no memory.
double* workspace(i64 count);

}  // namespace hn
