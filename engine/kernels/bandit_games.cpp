#include "../games/bandits.hpp"
#if defined(__AVX2__)  // The lanes give identical results, and are not compiled for short vectors.
#include "../games/lanes.hpp"
#endif

namespace hn::HN_ISA {

/// Plays a bandit with the fastest implementation; all of them give the same bits.
Outcome play_bandit(const BanditJob& job) {
#if defined(__AVX2__)
    if (softmax_few(*job.setup)) return play_softmax_few(job);
    if (barrier_few(*job.setup)) return play_barrier_few(job);
    if (job.setup->path == Path::entropy_one) return bandit_games<int(Path::entropy_one)>(job);
    if (job.setup->path == Path::half) return bandit_games<int(Path::half)>(job);
#endif
    return bandit_games<any_path>(job);
}

}  // namespace hn::HN_ISA
