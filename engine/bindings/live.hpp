// The methods of a live player that Python calls without nanobind between.
#pragma once

#include <nanobind/nanobind.h>

namespace hn {

extern PyType_Slot live_methods[];

}  // namespace hn
