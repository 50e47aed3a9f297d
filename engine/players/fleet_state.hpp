// State of a fleet: rows of learners, their keys and their open decisions.
#pragma once

#include <span>

#include "../players.hpp"
#include "evidence.hpp"
#include "fleet_rows.hpp"
#include "open_decisions.hpp"

namespace hn {

inline constexpr i64 far = 40;  // decisions to prefetch: a lookup takes a few ns, memory about 100 ns

/// Reason for which a ticket or a loss of a batch is rejected.
enum class Refusal : int { none, unknown, never_drawn, closed, twice, other_fleet, other_move, bad_loss };
struct Refused {
    Refusal why;
    i64 place;
};

/// Decisions passed for settlement: all their fields, or only unsealed tickets if `actions` is null.
struct Told {
    const u64* tickets;
    i64 count;
    const i64* actions = nullptr;
    const double* probabilities = nullptr;
    int origin = -1;
};

/// Public form of tickets: a permutation of 63 bits per fleet, so that tickets are signed integers. A ticket of another
/// fleet, or an edited one, is open with probability (open decisions)/2^63. The permutation is not secret and does not
/// protect against attacks.
struct Seal {
    u64 salt = 0;
    static constexpr u64 within = 0x7fffffffffffffffu;
    static constexpr u64 times = 0xbf58476d1ce4e5b9u,
                         back = 0x96de1b173f119089u;  // inverses of each other
    i64 sealed(u64 x) const {
        x = (x ^ salt) * times & within;
        x ^= x >> 32;
        return i64((x * times ^ salt) & within);
    }
    u64 opened(i64 ticket) const {
        u64 x = (u64(ticket) ^ salt) * back & within;
        x ^= x >> 32;
        return (x * back ^ salt) & within;
    }
};
inline constexpr u64 most_learners = u64(1) << 31;  // per fleet: a learner number is 31 bits of a ticket

/// Start of all streams: the pool of NumPy's SeedSequence and the state of its hash.
struct Seed {
    u32 pool[4];
    u32 constant;
};

/// Learners with the same description, one row per learner. Their smoothing is compiled: no step calls Python.
class Fleet {
    std::shared_ptr<const void> owner_;
    std::vector<double> template_, shares_, backup_;
    std::vector<double*> rows_of_batch_;
    std::vector<OpenDecision> taken_;
    // Buffers of a batch.
    std::vector<i32> arms_;
    std::vector<u32> rounds_;
    std::vector<double> probabilities_, weights_;
    std::vector<u64> marks_;
    std::unique_ptr<bool[]> slept_;
    std::size_t slept_size_ = 0;
    bool busy_ = false;
    std::unique_ptr<AtPlay> at_;  // for diagnosed rounds
    std::vector<double> before_;
    // Evidence of the learner of a store, which several fleets may count in.
    std::shared_ptr<Evidence> evidence_;
    std::vector<i32> column_of_;  // arm of the table per arm, or -1
    std::vector<double> all_, shown_;
    std::vector<u8> versions_;

public:
    Setup setup;
    RowPlan plan;
    Room room;
    Run run, twin;
    double start = 0.0;  // potential of a new learner
    Rows rows;
    KeyTable keys;
    OpenTable open;
    Seed seed{};
    Seal seal;
    int origin = 0, origins = 1;  // id of current draws; number of ids so far

    /// `owner` keeps the arrays of the setup alive.
    Fleet(const Setup& described, std::shared_ptr<const void> owner, bool sleeps, std::span<const double> prior,
          bool diagnosed)
        : owner_(std::move(owner)), setup(described), plan(plan_of(setup, sleeps, diagnosed)), room((diagnosed ? 3 : 2) * aligned_room(setup)),
          rows(plan.stride), open(plan.mark_words) {
        require(setup.setting == Setting::bandit, "learner of a fleet must be a bandit");
        require(setup.estimator != Estimator::foreign, "estimator of a fleet must be compiled");
        require(prior.size() == 0 || i64(prior.size()) == setup.n, "prior must have one number per arm");
        run.lay_out(setup, room.at(0));
        twin.lay_out(setup, room.at(aligned_room(setup)));
        if (diagnosed) {
            at_ = std::make_unique<AtPlay>();
            at_->setup = setup;
            at_->run = run;
            at_->twin = twin;
            at_->before.lay_out(setup, room.at(2 * aligned_room(setup)));
        }
        template_.resize(std::size_t(plan.stride) + 4);
        shares_.resize(std::size_t(setup.places()) + 8);
        if (!fleets().begin(setup, plan, run, prior.size() ? prior.data() : nullptr, template_.data()))
            throw Unsolved(setup);
        start = run.start;
    }
    Fleet(const Fleet&) = delete;

    /// Lock against a second caller; required by every function that changes the fleet or uses its run.
    Busy alone() {
        return Busy(busy_, "a fleet must be used by one caller at a time; another call is in progress");
    }

    // Learners

    void set_stream(double* row, const u32* parts, i64 count) {
        u64 words[4];
        fleets().seed(seed.pool, seed.constant, parts, count, words);
        put_stream(plan, row, {words[0], words[1], words[2], words[3]});
    }
    void set_stream(double* row, u64 key) {
        const u32 parts[2] = {u32(key), u32(key >> 32)};
        set_stream(row, parts, parts[1] ? 2 : 1);
    }
    /// Create a learner.
    double* born(u64 key, u64& number) {
        require(rows.born() < most_learners,
                "a fleet must create at most 2^31 learners, removed learners included");
        number = rows.add(key);
        double* row = rows.row(number);
        __builtin_memcpy(row, template_.data(), std::size_t(plan.stride) * sizeof(double));
        return row;
    }
    u32 number_of(u64 key) {
        const u32 found = keys.find(key);
        if (found != KeyTable::none) return found;
        const Busy here = alone();
        u64 number;
        set_stream(born(key, number), key);
        keys.add(key, u32(number));
        return u32(number);
    }
    /// Remove learners with their open decisions.
    void retire(std::span<const i64> numbers, bool keyed) {
        const Busy here = alone();
        i64 left = 0;
        for (const i64 number : numbers) {
            if (!rows.has(u64(number))) continue;  // listed twice
            left += counts_at(plan, rows.row(u64(number))).open;
            if (keyed) keys.remove(rows.key(u64(number)));
            rows.remove(u64(number));
        }
        if (left == 0) return;
        std::vector<u64> gone;
        open.each([&](i64, const OpenDecision& one) {
            if (!rows.has(one.ticket >> 32)) gone.push_back(one.ticket);
        });
        for (u64 ticket : gone) open.remove(open.find(ticket));
    }

    // Evidence

    /// Count draws and feedback in a table, one arm per column. `fresh`: pending decisions are not counted.
    void count_in(std::shared_ptr<Evidence> table, std::span<const i64> columns, bool fresh) {
        const Busy here = alone();
        if (!table) {
            evidence_.reset();
            return;
        }
        require(columns.size() == table->arms.size(), "columns must have one arm per arm of the table");
        std::vector<i32> made(std::size_t(setup.n), -1);
        for (std::size_t k = 0; k < columns.size(); ++k) {
            const i64 arm = columns[k];
            require(arm >= 0 && arm < setup.n && made[std::size_t(arm)] < 0, "columns must be different arms of the learner");
            made[std::size_t(arm)] = i32(k);
        }
        const std::size_t newest = table->draws ? Evidence::version_of(table->draws) + 1 : 0;
        if (fresh) {
            std::vector<i64> counted;
            open.each([&](i64 place, const OpenDecision& one) {
                if (one.version) counted.push_back(place);
            });
            for (const i64 place : counted) open.change(place).version = 0;
        } else {
            open.each([&](i64, const OpenDecision& one) {
                require(one.version <= newest && (!one.version || made[one.arm] >= 0),
                        "corrupt evidence: it differs from the pending decisions");
            });
        }
        shown_.resize(table->arms.size());
        evidence_ = std::move(table);
        column_of_ = std::move(made);
        all_.resize(std::size_t(setup.places()) + 8);
    }
    /// Number of pending decisions that the table counts.
    i64 counted() const {
        i64 found = 0;
        open.each([&](i64, const OpenDecision& one) { found += one.version > 0; });
        return found;
    }
    static void count_draw(void* fleet, i64 k, const double* probabilities) {
        Fleet& f = *static_cast<Fleet*>(fleet);
        Evidence& table = *f.evidence_;
        const i32 column = f.column_of_[std::size_t(f.arms_[std::size_t(k)])];
        f.versions_[std::size_t(k)] = 0;
        if (column >= 0) {
            for (i64 j = 0; j < f.setup.n; ++j)
                if (f.column_of_[std::size_t(j)] >= 0)
                    f.shown_[std::size_t(f.column_of_[std::size_t(j)])] = probabilities[j];
            table.act(f.shown_.data(), std::size_t(column));
            table.watch();
            f.versions_[std::size_t(k)] = u8(Evidence::version_of(table.draws) + 1);
        }
        ++table.sequence;
    }
    void count_loss(const OpenDecision& one, double loss) {
        if (!evidence_) return;
        if (one.version) {
            evidence_->settle(std::size_t(one.version - 1), std::size_t(column_of_[one.arm]), one.probability,
                              (loss - setup.origin) * setup.slope);
            evidence_->watch();
        }
        ++evidence_->sequence;
    }

    // Rounds

    /// Prefetch the data of a decision.
    void fetch(u64 ticket) const {
        open.fetch(ticket);
        if (!rows.has(ticket >> 32)) return;
        const double* row = rows.row(ticket >> 32);
        for (i64 j = 0; j < plan.stride; j += 8) __builtin_prefetch(row + j, 1);
    }

    FleetBatch batch(i64 count) {
        const std::size_t size = std::size_t(count);
        rows_of_batch_.resize(size);
        arms_.resize(size);
        rounds_.resize(size);
        probabilities_.resize(size);
        weights_.resize(size);
        marks_.resize(size * std::size_t(plan.mark_words));
        if (slept_size_ < size) {
            slept_ = std::make_unique<bool[]>(size);
            slept_size_ = size;
        }
        FleetBatch b{};
        b.setup = &setup;
        b.plan = &plan;
        b.run = &run;
        b.rows = rows_of_batch_.data();
        b.count = count;
        b.arms = arms_.data();
        b.rounds = rounds_.data();
        b.probabilities = probabilities_.data();
        b.weights = weights_.data();
        b.marks = marks_.data();
        b.slept = slept_.get();
        b.shares = shares_.data();
        backup_.resize(size * std::size_t(plan.stride) + 4);
        b.backup = backup_.data();
        return b;
    }
    // Diagnosed fleets settle decisions one by one, with the steps of players.

    /// Settle all decisions. Returns false, with the rows unchanged, if one of them fails.
    bool one_by_one(const FleetBatch& b) {
        const std::size_t stride = std::size_t(plan.stride);
        before_.resize(std::size_t(b.count) * stride);
        for (i64 k = 0; k < b.count; ++k) {
            __builtin_memcpy(before_.data() + std::size_t(k) * stride, b.rows[k], stride * sizeof(double));
            if (settle_diagnosed(b, k)) continue;
            for (i64 j = k; j >= 0; --j)
                __builtin_memcpy(b.rows[j], before_.data() + std::size_t(j) * stride,
                                 stride * sizeof(double));
            return false;
        }
        return true;
    }
    bool settle_diagnosed(const FleetBatch& b, i64 k) {
        double* row = b.rows[k];
        fleets().unpack(setup, plan, row, at_->run);
        const u64* marks = b.marks + k * plan.mark_words;
        const auto marked = [&](i64 j) { return bool(marks[j >> 6] >> (j & 63) & 1); };
        Status status;
        if (b.slept[k]) {
            bool* awake = reinterpret_cast<bool*>(shares_.data());
            for (i64 j = 0; j < setup.n; ++j) awake[j] = marked(j);
            status = players().observe_awake(*at_, awake, b.arms[k], b.weights[k], b.losses[k]);
        } else {
            if (setup.estimator == Estimator::reduced_variance)
                for (i64 j = 0; j < setup.places(); ++j)
                    at_->run.scratch[j] = j < setup.n && marked(j) ? 0.5 : 0.0;
            status = players().observe_arm(*at_, b.arms[k], b.probabilities[k], b.weights[k], b.losses[k]);
        }
        if (status != Status::fine) return false;
        fleets().pack(setup, plan, at_->run, row);
        RowCounts counts = counts_at(plan, row);
        --counts.open;
        counts.behind = 0;
        put_counts(plan, row, counts);
        return true;
    }
    /// Draw decision k for learner numbers[k], and replace the number with the ticket.
    void act(i64 count, const bool* awake, i64 per_decision, i64* tickets, i64* rounds, i64* arms,
             double* p) {
        const Busy here = alone();
        FleetBatch b = batch(count);
        b.awake = awake;
        b.per_decision = per_decision;
        if (evidence_) {
            versions_.resize(std::size_t(count));
            b.counted = &count_draw;
            b.fleet = this;
            b.all = all_.data();
        }
        open.reserve(count);
        for (i64 k = 0; k < count; ++k) rows_of_batch_[std::size_t(k)] = rows.change(u64(tickets[k]));
        if (fleets().act(b) >= 0) throw Unsolved(setup);
        const auto ask = [&](i64 k) {
            if (k < count) open.fetch(ticket_of(u32(tickets[k]), b.rounds[k]));
        };
        for (i64 k = 0; k < far; ++k) ask(k);
        for (i64 k = 0; k < count; ++k) {
            ask(k + far);
            const u64 ticket = ticket_of(u32(tickets[k]), b.rounds[k]);
            tickets[k] = seal.sealed(ticket);
            rounds[k] = b.rounds[k];
            arms[k] = b.arms[k];
            p[k] = b.probabilities[k];
            const i64 place = open.add(ticket);
            OpenDecision& one = open.change(place);
            one.weight = b.weights[k];
            one.probability = b.probabilities[k];
            one.arm = u32(b.arms[k]);
            one.origin = std::uint16_t(origin);
            one.slept = b.slept[k];
            one.version = evidence_ ? versions_[std::size_t(k)] : 0;
            for (i64 w = 0; w < plan.mark_words; ++w)
                open.change_marks(place)[w] = b.marks[k * plan.mark_words + w];
        }
    }

    /// Return why a ticket is not open. Earlier tickets of the batch were open and have been removed.
    Refusal why_not(const Told& told, i64 k) const {
        const u64 ticket = told.tickets[k], number = ticket >> 32;
        for (i64 j = 0; j < k; ++j)
            if (told.tickets[j] == ticket) return Refusal::twice;
        if (!rows.has(number)) return number < rows.born() ? Refusal::closed : Refusal::unknown;
        const u32 round = u32(ticket), drawn = counts_at(plan, rows.row(number)).drawn;
        return round >= 1 && round <= drawn ? Refusal::closed : Refusal::never_drawn;
    }
    Refusal differs(const Told& told, i64 k, const OpenDecision& one) const {
        if (told.origin >= 0 && one.origin != told.origin) return Refusal::other_fleet;
        if (told.actions && i64(one.arm) != told.actions[k]) return Refusal::other_move;
        if (told.probabilities && one.probability != told.probabilities[k]) return Refusal::other_move;
        return Refusal::none;
    }
    void put_back(i64 count) {
        const i64 words = plan.mark_words;
        for (i64 k = 0; k < count; ++k) {
            const i64 place = open.add(taken_[std::size_t(k)].ticket);
            open.change(place) = taken_[std::size_t(k)];
            for (i64 w = 0; w < words; ++w) open.change_marks(place)[w] = marks_[std::size_t(k * words + w)];
        }
    }
    /// Move the decisions from the table to `taken_` and `marks_`, atomically: each must be open, listed once, and match the
    /// given fields.
    Refused take(const Told& told) {
        const i64 words = plan.mark_words;
        taken_.resize(std::size_t(told.count));
        marks_.resize(std::size_t(told.count * words));
        for (i64 k = 0; k < told.count; ++k) {
            if (k + far < told.count) open.fetch(told.tickets[k + far]);
            const i64 place = open.find(told.tickets[k]);
            const Refusal why = place < 0 ? why_not(told, k) : differs(told, k, open.at(place));
            if (why != Refusal::none) {
                put_back(k);
                return {why, k};
            }
            taken_[std::size_t(k)] = open.at(place);
            for (i64 w = 0; w < words; ++w) marks_[std::size_t(k * words + w)] = open.marks(place)[w];
            open.remove(place);
        }
        return {Refusal::none, -1};
    }
    Refused settle(const Told& told, const double* losses) {
        const Busy here = alone();
        for (i64 k = 0; k < told.count; ++k)
            if (!(setup.low <= losses[k] && losses[k] <= setup.high)) return {Refusal::bad_loss, k};
        FleetBatch b = batch(told.count);
        b.losses = losses;
        const Refused refused = take(told);
        if (refused.why != Refusal::none) return refused;
        for (i64 k = 0; k < told.count; ++k) {
            const OpenDecision& one = taken_[std::size_t(k)];
            b.arms[k] = i32(one.arm);
            b.probabilities[k] = one.probability;
            b.weights[k] = one.weight;
            b.slept[k] = one.slept;
            rows_of_batch_[std::size_t(k)] = rows.change(one.ticket >> 32);
        }
        if (!(at_ ? one_by_one(b) : fleets().settle(b) < 0)) {
            put_back(told.count);
            throw Unsolved(setup);
        }
        for (i64 k = 0; k < told.count; ++k) count_loss(taken_[std::size_t(k)], losses[k]);
        return refused;
    }
    Refused forget(const Told& told) {
        const Busy here = alone();
        const Refused refused = take(told);
        if (refused.why != Refusal::none) return refused;
        for (i64 k = 0; k < told.count; ++k) {
            double* row = rows.change(told.tickets[k] >> 32);
            RowCounts counts = counts_at(plan, row);
            --counts.open;
            ++counts.forgotten;
            put_counts(plan, row, counts);
        }
        return refused;
    }
};

}  // namespace hn
