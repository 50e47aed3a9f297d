#include "../games.hpp"

#include "../games/expert_bandits.hpp"
#include "../games/bandits.hpp"
#include "../games/experts.hpp"
#include "../games/survey.hpp"
#if defined(__AVX2__)  // lanes make the same bits: where vectors are short they are not worth their text
#include "../games/barrier_few.hpp"
#endif

namespace hn::HN_ISA {
namespace {

i64 bandit(const BanditJob& job) {
#if defined(__AVX2__)
    if (softmax_few(*job.setup)) return play_softmax_few(job);
    if (barrier_few(*job.setup)) return play_barrier_few(job);
    if (job.setup->path == Path::entropy_one) return bandit_games<int(Path::entropy_one)>(job);
    if (job.setup->path == Path::half) return bandit_games<int(Path::half)>(job);
#endif
    return bandit_games<any_path>(job);
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
const Games games = {bandit, advised, experts_game, survey, follow_experts, largest_byte, toss};

}  // namespace hn::HN_ISA
