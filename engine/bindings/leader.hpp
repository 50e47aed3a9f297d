// Leader of a convex game as a Python object: owns the arrays of the set, the observed losses, the run and
// the model.
#pragma once

#include <exception>
#include <vector>

#include "../convex.hpp"
#include "arrays.hpp"

namespace hn {

/// A convex set and its numbers; shared by the runs of a game.
struct RegionOwner {
    std::vector<double> center, low, high;
    Region region;

    RegionOwner(SetKind kind, In<double> middle, double radius, In<double> lowest, In<double> highest)
        : center(std::size_t(padded(i64(middle.size()))), 0.0),
          low(lowest.data(), lowest.data() + lowest.size()),
          high(highest.data(), highest.data() + highest.size()) {
        const i64 d = i64(middle.size());
        require(d >= 1, "a set must have at least one dimension");
        const bool edged = kind == SetKind::box || kind == SetKind::simplex;
        require(!edged || (low.size() == middle.size() && high.size() == middle.size()),
                "low and high must be of the set's dimension");
        for (i64 j = 0; j < d; ++j) center[std::size_t(j)] = middle.data()[j];
        region = {kind, d, radius, center.data(), low.data(), high.data()};
    }
    RegionOwner(const RegionOwner&) = delete;
};

class LeaderOwner {
public:
    nb::object region_object, slopes;  // owner of the set's arrays; phi' and phi'' of a user-defined loss
    const Region& region;
    PointRules rules{};
    bool plays = false;
    Sums sums;
    PointRun run{};
    PointRun marked{};
    std::exception_ptr error;

    LeaderOwner(nb::object set, nb::object given, In<u64> words);
    LeaderOwner(const LeaderOwner&) = delete;

    Busy alone() {
        return Busy(busy_, "a convex player must be used by one caller at a time; another call is in progress");
    }
    i64 d() const { return region.d; }
    i64 width() const { return padded(region.d); }

    /// Reserve memory for `more` losses of a kind.
    void prepare(Phi phi, double parameter, i64 more, nb::object own);
    PointModel& model();
    PointModel& spare_model();
    AtPoint at(bool curved) { return {&rules, &region, &sums, &run, curved ? &model() : nullptr}; }
    /// True if the next move needs the solver.
    bool solves() const { return sums.curved() > 0 || rules.ridge > 0.0; }
    /// Exception that a user-defined phi raised.
    void raise();

    void mark();
    void back();
    nb::dict fields();
    void restore(const nb::dict& from);

private:
    bool busy_ = false;
    struct ModelOwner {
        std::vector<double> numbers;
        std::vector<i64> marks;
        PointModel model{};
        PointModel& made(i64 d);
    };
    std::vector<double> vectors_, quadratic_, rows_, targets_;
    ModelOwner model_, spare_;
};

}  // namespace hn
