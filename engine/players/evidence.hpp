// Table of evidence of one learner: its arms, the versions of the centers, and the pending draws.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "../evidence.hpp"

namespace hn {

/// Error probability of the statement about the best arm, and the share of it that differences use.
inline constexpr double watched_alpha = 0.05, watched_share = 0.4;

struct Evidence {
    std::vector<ArmEvidence> arms;
    /// Centers per version and arm. Version v holds for the draws s with bit_length(s - 1) = v.
    std::vector<double> centers;
    u64 draws = 0, pending = 0;
    double own = 0.0;
    /// Arm that was the best at every evaluation since draw `sure_since`, or -1, and the counts at the last evaluation.
    i64 sure = -1;
    u64 sure_since = 0, seen_draws = 0, seen_settled = 0;
    /// In a store: sequence of the next event in the journal, of the first draw, and of the event of `sure_since`.
    u64 sequence = 0, began = 0, sure_sequence = 0;

    /// Arms that retired, which the best arm is not compared with. Not saved: the owner of the table knows them.
    std::vector<unsigned char> retired;

    explicit Evidence(std::size_t count) : arms(count, ArmEvidence{}), centers(count, 0.5), retired(count, 0) {}

    /// Version of the centers of a draw.
    static std::size_t version_of(u64 draw) { return std::size_t(std::bit_width(draw - 1)); }
    const double* centers_of(std::size_t version) const { return centers.data() + version * arms.size(); }

    /// Draw number draws + 1.
    void act(const double* probabilities, std::size_t arm) {
        if (!draws) began = sequence;
        ++draws;
        evidence().act(arms.data(), i64(arms.size()), centers_of(version_of(draws)), probabilities, i64(arm));
        ++pending;
        // After draw number 2^k the centers are recomputed from the settled draws.
        if (std::has_single_bit(draws))
            for (const ArmEvidence& found : arms) centers.push_back((0.5 + found.sum) / (1.0 + found.settled));
    }
    /// Feedback of a draw of a version of the centers; rounding may leave [0, 1] in the last bit.
    void settle(std::size_t version, std::size_t arm, double probability, double loss) {
        loss = std::min(std::max(loss, 0.0), 1.0);
        evidence().settle(arms[arm], centers_of(version)[arm], probability, loss);
        own += loss;
        --pending;
    }

    /// Estimate of the mean loss of an arm over all draws, from the smallest bet on both sides.
    double estimate(std::size_t arm) const {
        const double smallest = 1.0 / double(1 << (bets - 1));
        double e[2];
        for (int side = 0; side < 2; ++side)
            e[side] = (arms[arm].main[side].W[bets - 1] / smallest + arms[arm].main[side].C[bets - 1]) / double(draws);
        return 0.5 * (e[0] + 1.0 - e[1]);
    }
    /// Evaluate the best arm if the number of draws or of settlements has grown by 2% since the last evaluation.
    void watch() {
        const u64 settled = draws - pending;
        const auto grown = [](u64 now, u64 before) { return now > before && 50 * now >= 51 * before; };
        if (!grown(draws, seen_draws) && !grown(settled, seen_settled)) return;
        seen_draws = draws;
        seen_settled = settled;
        const i64 found = best();
        if (found >= 0 && found != sure) {
            sure_since = draws;
            sure_sequence = sequence;
        }
        if (found < 0) sure_since = sure_sequence = 0;
        sure = found;
    }

private:
    /// The arm with the smallest estimate if it is the best available one at alpha = 0.05, or -1.
    i64 best() const {
        const std::size_t n = arms.size();
        if (n < 2) return -1;
        std::size_t first = n, others = 0;
        double smallest = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            if (retired[i]) continue;
            const double found = estimate(i);
            if (first < n) ++others;
            if (first == n || found < smallest) {
                smallest = found;
                first = i;
            }
        }
        if (!others) return -1;
        const double threshold = std::log(double(n) * double(n - 1) / (watched_share * watched_alpha)), top = double(draws);
        for (std::size_t b = 0; b < n; ++b)
            if (b != first && !retired[b] &&
                !(evidence().low(arms[b].main[0], &arms[first].main[1], 1.0, 2.0 * top, threshold) > top))
                return -1;
        return i64(first);
    }
};

}  // namespace hn
