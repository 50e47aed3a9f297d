// The table of evidence of one learner: its arms, the versions of the centers, and what is pending.
#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include "../evidence.hpp"

namespace hn {

struct Evidence {
    std::vector<ArmEvidence> arms;
    /// Centers per version and arm. Version v holds for the draws s with bit_length(s - 1) = v.
    std::vector<double> centers;
    u64 draws = 0, pending = 0;
    double own = 0.0;

    explicit Evidence(std::size_t count) : arms(count, ArmEvidence{}), centers(count, 0.5) {}

    const double* centers_of(u64 draw) const { return centers.data() + std::size_t(std::bit_width(draw - 1)) * arms.size(); }

    /// Draw number draws + 1.
    void act(const double* probabilities, std::size_t arm) {
        ++draws;
        evidence().act(arms.data(), i64(arms.size()), centers_of(draws), probabilities, i64(arm));
        ++pending;
        // After the draws numbered by powers of two the centers are renewed from what has been settled.
        if (std::has_single_bit(draws))
            for (const ArmEvidence& found : arms) centers.push_back((0.5 + found.sum) / (1.0 + found.settled));
    }
    void settle(u64 draw, std::size_t arm, double probability, double loss) {
        evidence().settle(arms[arm], centers_of(draw)[arm], probability, loss);
        own += loss;
        --pending;
    }
};

}  // namespace hn
