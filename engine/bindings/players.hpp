// The run behind a player that Python holds.
#pragma once

#include "../players.hpp"
#include "arrays.hpp"
#include "busy.hpp"

namespace hn {

/// Refused where the object is no player of the engine's; good as long as the object lives.
AtPlay& at_play(nb::handle player);
/// As long as it lives, the player is used by nobody else.
Busy alone(nb::handle player);
/// Raises what a smoothing of Python's own raised, if that is why a step failed.
void raise_if_foreign(nb::handle player);
/// Rounds that were drawn and settled without a ticket, the latest after so many others.
void count_rounds(nb::handle player, i64 more, i64 delay = 0);
i64 largest_delay(nb::handle player);

}  // namespace hn
