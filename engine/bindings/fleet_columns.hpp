// Learners of a fleet from columns by name, as files and other fleets (fleet_photo.hpp) have them: every value by its rule.
#pragma once

#include "fleet.hpp"

namespace hn {

/// New learners with these columns, in the order of the rows; everything is checked before the first is there. `numbers`:
/// theirs, ascending, above all that were given; or empty: the next ones. Returns their numbers.
nb::object put(Fleet& fleet, nb::dict columns, In<i64> keys, bool keyed, In<i64> numbers);

}  // namespace hn
