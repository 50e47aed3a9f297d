#include "../games/replay.hpp"

namespace hn::HN_ISA {

extern const Players players;
extern const Replay replay;

namespace {
i64 rows(ReplayJob& job) { return replay_rows(job, players); }
}  // namespace

const Replay replay = {rows};

}  // namespace hn::HN_ISA
