// Learners of a fleet as columns by name, for files and for moving between fleets; and back, every value by its rule.
#pragma once

#include "fleet.hpp"

namespace hn {

/// (name, kind "f" or "u", numbers a learner) of each column, then of each column of the open decisions.
nb::list learner_columns(Fleet& fleet);
nb::list open_columns(Fleet& fleet);
nb::dict taken(Fleet& fleet, In<i64> numbers);
/// New learners with these columns, in the order of the rows; everything is checked before the first is there. `numbers`:
/// theirs, ascending, above all that were given; or empty: the next ones. Returns their numbers.
nb::object put(Fleet& fleet, nb::dict columns, In<i64> keys, bool keyed, In<i64> numbers);

}  // namespace hn
