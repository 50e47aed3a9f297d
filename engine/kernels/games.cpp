#include "../games.hpp"

#include "../games/advised.hpp"
#include "../games/bandits.hpp"
#include "../games/experts.hpp"
#include "../games/survey.hpp"

namespace hn::HN_ISA {
namespace {

i64 bandit(const BanditJob& job) {
    switch (job.setup->path) {
        case Path::called: return bandit_games<Path::called>(job);
        case Path::entropy: return bandit_games<Path::entropy>(job);
        case Path::half: return bandit_games<Path::half>(job);
        case Path::barrier: return bandit_games<Path::barrier>(job);
        default: return bandit_games<Path::entropy_one>(job);
    }
}

i64 advised(const BanditJob& job) {
    return job.advice8 ? advised_game(job, job.advice8) : advised_game(job, job.advice);
}

void follow_experts(const double* x, i64 stride, const BanditJob& heard, i64 n, i64 actions, i64 rounds, double* sums,
                    const Marks& marks, double* low, double* high, double* room) {
    if (heard.advice8)
        expert_losses(x, stride, heard.advice8, nullptr, n, actions, rounds, sums, marks, low, high, room);
    else
        expert_losses(x, stride, heard.advice, heard.shares, n, actions, rounds, sums, marks, low, high, room);
}

}  // namespace

extern const Games games;
const Games games = {bandit, advised, experts_game, survey, follow_experts, toss};

}  // namespace hn::HN_ISA
