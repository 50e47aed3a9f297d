// Pending moves of a player: the last move, older moves that await feedback, and the counts of drawn and dropped moves.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "guards.hpp"

namespace hn {

using Numbers = std::shared_ptr<const std::vector<double>>;

/// Pending move: its object, the weight that replaces 1/p, and what its settlement needs.
template <class Object>
struct PendingMove {
    Object move;
    i64 round = 0, action = 0;
    double probability = 0.0, weight = 0.0;
    bool plain = true;  // all arms were available
    Numbers numbers;    // distribution or baselines at the draw, if the run has changed them since
    Object kept;        // object that the caller stores with the move
};

template <class Object>
class PendingMoves {
public:
    using Ticket = PendingMove<Object>;
    i64 drawn = 0, forgotten = 0, largest_delay = 0;

    i64 open() const { return i64(late_.size()) + (last_.round > 0); }
    i64 settled() const { return drawn - open() - forgotten; }

    /// Add the move of the next round; `action` is the number of its action.
    Ticket& issue(Object move, i64 action, double probability, double weight) {
        if (last_.round > 0) {
            const i64 missing = open();
            largest_delay = std::max(largest_delay, missing);
            late_.emplace(last_.round, std::move(last_));
            last_ = Ticket{};
        }
        last_.move = std::move(move);
        last_.round = ++drawn;
        last_.action = action;
        last_.probability = probability;
        last_.weight = weight;
        return last_;
    }
    /// Return the pending ticket of a round, or null.
    Ticket* find(i64 round) {
        if (last_.round == round && round > 0) return &last_;
        const auto found = late_.find(round);
        return found == late_.end() ? nullptr : &found->second;
    }
    /// Return the last move if it is pending, or null.
    Ticket* newest() { return last_.round > 0 ? &last_ : nullptr; }
    bool has_older() const { return !late_.empty(); }
    void close(i64 round) {
        if (last_.round != round) {
            late_.erase(round);
            return;
        }
        last_ = Ticket{};
    }
    void forget(i64 round) {
        close(round);
        ++forgotten;
    }
    /// Visit every pending ticket in order of rounds.
    template <class Visit> void each(Visit visit) { each_after(0, visit); }
    /// Visit every pending ticket of a later round, in order of rounds.
    template <class Visit> void each_after(i64 round, Visit visit) {
        for (auto at = late_.upper_bound(round); at != late_.end(); ++at) visit(at->second);
        if (last_.round > round) visit(last_);
    }
    void clear() {
        late_.clear();
        last_ = Ticket{};
    }
    /// Restore a ticket from a file; rounds must be ascending.
    Ticket& restore(Object move, i64 round) {
        require(round >= 1 && round <= drawn,
                "the round of a pending move must be between 1 and the number of rounds drawn");
        require(!find(round), "pending moves must have distinct rounds");
        require(last_.round == 0 || last_.round < round,
                "pending moves must be in ascending order of rounds");
        if (last_.round > 0) late_.emplace(last_.round, std::move(last_));
        last_ = Ticket{};
        last_.move = std::move(move);
        last_.round = round;
        return last_;
    }

private:
    Ticket last_;
    std::map<i64, Ticket> late_;  // open moves drawn before the last one
};

}  // namespace hn
