#include "../games.hpp"

#include "../games/expert_bandits.hpp"
#include "../games/experts.hpp"
#include "../games/survey.hpp"

namespace hn::HN_ISA {

Outcome play_bandit(const BanditJob& job);  // in bandit_games.cpp, so that both files compile in parallel

namespace {

Outcome advised(const BanditJob& job) {
    return job.advice.bytes ? advised_game(job, job.advice.bytes) : advised_game(job, job.advice.actions);
}

void losses_of_experts(const AdvisedBlock& block, double* sums, const Marks& marks, Extremes out,
                       double* room) {
    if (block.advice.bytes) expert_losses(block, block.advice.bytes, sums, marks, out, room);
    else expert_losses(block, block.advice.actions, sums, marks, out, room);
}

i64 largest_byte(const u8* x, i64 count) {
    typedef u8 u8x32 __attribute__((vector_size(32), aligned(1), may_alias));
    u8x32 top{};
    i64 k = 0;
    for (; k + 32 <= count; k += 32) {
        const u8x32 here = *reinterpret_cast<const u8x32*>(x + k);
        top = here > top ? here : top;
    }
    u8 largest = 0;
    for (int j = 0; j < 32; ++j) largest = top[j] > largest ? top[j] : largest;
    for (; k < count; ++k) largest = x[k] > largest ? x[k] : largest;
    return largest;
}

}  // namespace

extern const Games games;
const Games games = {play_bandit, advised, experts_game, survey, losses_of_experts, largest_byte, toss};

}  // namespace hn::HN_ISA
