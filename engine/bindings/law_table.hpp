// A tabulated law as Python holds it: its numbers, and the struct that points to them.
#pragma once

#include <vector>

#include "../law_table.hpp"

namespace hn {

struct HeldTable {
    LawTable table;
    std::vector<double> points, w, dw;
};

}  // namespace hn
