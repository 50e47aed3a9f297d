#include "../games.hpp"

#include "../games/expert_bandits.hpp"
#include "../games/experts.hpp"
#include "../games/survey.hpp"

namespace hn::HN_ISA {

i64 play_bandit(const BanditJob& job);  // in bandit_games.cpp, so that the two are compiled side by side

namespace {

i64 advised(const BanditJob& job) {
    return job.advice8 ? advised_game(job, job.advice8) : advised_game(job, job.advice);
}

void follow_experts(const double* x, i64 stride, const BanditJob& heard, i64 n, i64 actions, i64 rounds,
                    double* sums, const Marks& marks, double* low, double* high, double* room) {
    if (heard.advice8)
        expert_losses(x, stride, heard.advice8, nullptr, n, actions, rounds, sums, marks, low, high, room);
    else
        expert_losses(x, stride, heard.advice, heard.shares, n, actions, rounds, sums, marks, low, high,
                      room);
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
const Games games = {play_bandit, advised, experts_game, survey, follow_experts, largest_byte, toss};

}  // namespace hn::HN_ISA
