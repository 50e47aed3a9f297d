#include "../games/combination.hpp"

namespace hn::HN_ISA {

extern const Combinations combinations;
const Combinations combinations = {begin_combination, answer_row, settle_row, prompt_rows, refresh_all, bounds_b};

}  // namespace hn::HN_ISA
