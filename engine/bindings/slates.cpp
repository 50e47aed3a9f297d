// hannan._engine, slates: one run of a learner that chooses m of n items per round.
#include <cmath>
#include <vector>

#include "../slates.hpp"
#include "arrays.hpp"
#include "registration.hpp"

namespace hn {
namespace {

/// A run that owns its arrays.
class Slates {
    SlateSetup setup_;
    SlateRun run_;
    std::vector<double> L_, x_, baselines_, ratio_, p_, rest_, scratch_;
    std::vector<u64> exact_;
    std::vector<i32> order_, shuffled_, free_;
    i64 drawn_ = 0;
    double mean_ = 0.0;  // loss of the mean play, if all losses are observed
    bool all_ = false, ordered_ = false;

    bool has_baselines() const { return setup_.estimator == SlateEstimator::reduced_variance; }
    bool is_fitted() const { return setup_.draw == SlateDraw::conditional && setup_.play != SlatePlay::hedge; }
    double scale_of(i64 round) const {
        const Schedule& s = setup_.schedule;
        return s.c * std::sqrt(s.a + s.b * double(round) + s.d * mean_);
    }
    void weigh(i64 round) { slates().weigh(setup_, run_, scale_of(round)); }
    /// Draw a slate of `count` items; returns its probability, or a negative number if it is unknown.
    double draw(i64 count, i64* items) {
        if (setup_.draw == SlateDraw::conditional) return slates().draw_conditionally(setup_, run_, count, items);
        if (setup_.draw == SlateDraw::systematic) {
            slates().draw(setup_, run_, count, items);
            return -1.0;
        }
        slates().lead(setup_, run_, run_.scale, items);
        return -1.0;
    }
    void place() {
        run_.L = L_.data();
        run_.x = x_.data();
        run_.exact = exact_.data();
        run_.order = order_.data();
        run_.shuffled = shuffled_.data();
        run_.ratio = ratio_.data();
        run_.p = p_.data();
        run_.rest = rest_.data();
        run_.counts = scratch_.data();
        run_.free = free_.data();
    }

public:
    Slates(i64 n, i64 m, double c, double a, double b, int estimator, double gamma, In<u64> words, double d, int play,
           int draw, bool all, bool ordered) {
        require(n >= 1 && n < (i64(1) << 31) && m >= 1 && m <= n, "a slate must have 1 to n items");
        require(estimator >= 0 && estimator <= 2 && gamma >= 0.0, "estimator must be 0, 1 or 2, and gamma >= 0");
        require(words.size() == 4, "a stream must have four words");
        require(play >= 0 && play <= 4 && draw >= 0 && draw <= 2, "play must be in 0..4, and draw in 0..2");
        require((play == int(SlatePlay::leaders)) == (draw == int(SlateDraw::leaders)) &&
                    (play != int(SlatePlay::hedge) || draw == int(SlateDraw::conditional)),
                "the draw is not supported for this kind of play");
        require(!all || estimator == 0, "an estimator requires that only the losses of shown items are observed");
        require(!ordered || (play == int(SlatePlay::leaders) && m < 128),
                "ordered slates require the play of leaders and at most 127 items");
        setup_ = {n, m, Schedule{c, a, b, d}, SlateEstimator(estimator), gamma, SlatePlay(play), SlateDraw(draw)};
        all_ = all;
        ordered_ = ordered;
        if (draw != 0) {
            ratio_.assign(std::size_t(n), 1.0);
            p_.assign(std::size_t(n), 0.0);
            rest_.assign(std::size_t(n), 0.0);
            free_.assign(std::size_t(n), 0);
            scratch_.assign(std::size_t(slate_scratch(setup_)), 0.0);
        }
        L_.assign(std::size_t(n), 0.0);
        x_.assign(std::size_t(n), 0.0);
        baselines_.assign(std::size_t(n), 0.0);
        exact_.assign(std::size_t(n), 0);
        order_.resize(std::size_t(n));
        shuffled_.resize(std::size_t(n));
        for (i64 i = 0; i < n; ++i) order_[std::size_t(i)] = i32(i);
        set_words(words);
        place();
    }
    Slates(const Slates&) = delete;
    Slates& operator=(const Slates&) = delete;

    void set_words(In<u64> words) { run_.stream = {words.data()[0], words.data()[1], words.data()[2], words.data()[3]}; }
    nb::object words() const {
        Fresh<u64> out(4);
        const Words& w = run_.stream;
        out.data[0] = w.a, out.data[1] = w.b, out.data[2] = w.c, out.data[3] = w.d;
        return out.give();
    }
    i64 drawn() const { return drawn_; }
    nb::object losses() const {
        Fresh<double> out(L_.size());
        for (std::size_t i = 0; i < L_.size(); ++i) out.data[i] = L_[i];
        return out.give();
    }
    void restore(In<double> losses, i64 drawn) {
        require(losses.size() == L_.size() && drawn >= 0, "losses must have one number per item");
        for (std::size_t i = 0; i < L_.size(); ++i) {
            require(std::isfinite(losses.data()[i]), "losses must be finite");
            L_[i] = losses.data()[i];
        }
        drawn_ = drawn;
    }
    double mean() const { return mean_; }
    void set_mean(double mean) {
        require(std::isfinite(mean) && mean >= 0.0, "the loss of the mean play must be finite and >= 0");
        mean_ = mean;
    }
    double deviation() const { return run_.deviation; }
    void set_deviation(double deviation) { run_.deviation = deviation; }
    /// Weights of the conditional draw over the odds, from which the next fit starts.
    nb::object ratios() const {
        Fresh<double> out(ratio_.size());
        for (std::size_t i = 0; i < ratio_.size(); ++i) out.data[i] = ratio_[i];
        return out.give();
    }
    void set_ratios(In<double> ratios) {
        require(ratios.size() == ratio_.size(), "the weights of the draw must be one number per item");
        for (std::size_t i = 0; i < ratio_.size(); ++i) {
            require(ratios.data()[i] > 1e-200 && ratios.data()[i] < 1e200, "the weights of the draw must be > 0");
            ratio_[i] = ratios.data()[i];
        }
    }

    /// Probabilities of the next slate, of the available items if a mask is given.
    nb::object probabilities(nb::object available) {
        const double before = run_.deviation;
        weigh(drawn_ + 1);
        i64 count = setup_.m;
        if (!available.is_none()) count = slates().restrict(setup_, run_, mask(available).data());
        if (is_fitted()) slates().condition(setup_, run_, count, false);
        run_.deviation = before;
        Fresh<double> out(x_.size());
        for (std::size_t i = 0; i < x_.size(); ++i) out.data[i] = x_[i];
        return out.give();
    }
    In<bool> mask(nb::object given) const {
        auto found = nb::cast<In<bool>>(given);
        require(found.size() == L_.size(), "a mask must have one entry per item");
        return found;
    }
    /// Items in random order, their inclusion probabilities, and the data for settling: the items with a baseline
    /// of this round, or None. If some items are unavailable: their mask, and the weight of each shown item in the loss
    /// that unavailable items are charged.
    nb::tuple act(nb::object available) {
        weigh(++drawn_);
        nb::object kept = nb::none(), whole = nb::none();
        i64 count = setup_.m;
        std::vector<double> full;
        double away = 0.0;
        if (!available.is_none()) {
            const auto here = mask(available);
            full = x_;
            Fresh<bool> gone(L_.size());
            for (std::size_t i = 0; i < L_.size(); ++i) {
                gone.data[i] = !here.data()[i];
                if (gone.data[i]) away += x_[i];
            }
            count = slates().restrict(setup_, run_, here.data());
            kept = gone.give();
        }
        if (is_fitted()) slates().condition(setup_, run_, count, available.is_none());
        if (all_) {
            Fresh<double> mean(L_.size());
            for (std::size_t i = 0; i < L_.size(); ++i) mean.data[i] = x_[i];
            kept = mean.give();
        } else if (available.is_none() && has_baselines()) {
            slates().baselines(setup_, run_, baselines_.data());
            Fresh<bool> mask(L_.size());
            for (std::size_t i = 0; i < L_.size(); ++i) mask.data[i] = baselines_[i] != 0.0;
            kept = mask.give();
        }
        std::vector<i64> items(static_cast<std::size_t>(count));
        double chance = draw(count, items.data());
        if (setup_.draw == SlateDraw::leaders) {
            chance = slates().chance_of_leaders(setup_, run_, items.data());
            if (!ordered_) slates().shuffle(run_, count, items.data());
        }
        if (chance >= 0.0) whole = nb::float_(chance);
        nb::list chosen, chances;
        Fresh<double> weights(items.size());
        for (std::size_t k = 0; k < items.size(); ++k) {
            const std::size_t item = std::size_t(items[k]);
            chosen.append(items[k]);
            chances.append(x_[item]);
            weights.data[k] = 0.0;
            if (!full.empty() && x_[item] > full[item])
                weights.data[k] = (x_[item] - full[item]) / (away * (x_[item] + setup_.gamma));
        }
        if (!full.empty()) kept = nb::make_tuple(kept, weights.give());
        return nb::make_tuple(nb::tuple(chosen), nb::tuple(chances), kept, whole);
    }
    /// Settle a round in which the losses of all items were observed, and the mean play was `kept`.
    void settle_all(In<double> losses, In<double> kept) {
        require(all_ && losses.size() == L_.size() && kept.size() == L_.size(), "losses must have one number per item");
        double mean = 0.0;
        for (std::size_t i = 0; i < L_.size(); ++i) {
            require(losses.data()[i] >= 0.0 && losses.data()[i] <= 1.0, "losses must be in [0, 1]");
            require(kept.data()[i] >= 0.0 && kept.data()[i] <= 1.0, "probabilities must be in [0, 1]");
        }
        for (std::size_t i = 0; i < L_.size(); ++i) {
            mean += kept.data()[i] * losses.data()[i];
            L_[i] += losses.data()[i];
        }
        mean_ += mean;
    }
    void settle(In<i64> items, In<double> probabilities, In<double> losses, nb::object kept) {
        const std::size_t count = items.size();
        require(count <= std::size_t(setup_.m) && probabilities.size() == count && losses.size() == count, "items, probabilities and losses must have one number per item of the slate");
        for (std::size_t k = 0; k < count; ++k) {
            require(items.data()[k] >= 0 && items.data()[k] < setup_.n, "items must be integers from 0 to n - 1");
            require(probabilities.data()[k] > 0.0 && probabilities.data()[k] <= 1.0, "probabilities must be in (0, 1]");
            require(losses.data()[k] >= 0.0 && losses.data()[k] <= 1.0, "losses must be in [0, 1]");
        }
        const double* baselines = nullptr;
        if (nb::isinstance<nb::tuple>(kept)) {
            const auto parts = nb::cast<nb::tuple>(kept);
            require(nb::len(parts) == 2, "a restricted slate must have a mask and weights");
            const auto gone = mask(parts[0]);
            const auto weights = nb::cast<In<double>>(parts[1]);
            require(weights.size() == count, "a restricted slate must have one weight per item");
            double charged = 0.0;
            for (std::size_t k = 0; k < count; ++k) {
                require(std::isfinite(weights.data()[k]) && weights.data()[k] >= 0.0, "weights must be finite and >= 0");
                require(!gone.data()[items.data()[k]], "a shown item must be available");
                charged += weights.data()[k] * losses.data()[k];
            }
            for (std::size_t i = 0; i < L_.size(); ++i)
                if (gone.data()[i]) L_[i] += charged;
        } else if (has_baselines()) {
            const auto found = mask(kept);
            for (std::size_t i = 0; i < L_.size(); ++i) baselines_[i] = found.data()[i] ? 0.5 : 0.0;
            baselines = baselines_.data();
        }
        slates().settle(setup_, run_, i64(count), items.data(), probabilities.data(), losses.data(), baselines);
    }
    /// Whole rounds with prompt feedback: one row of 0s and 1s per round; of positions from 1 if slates are ordered.
    nb::object play(Table2<double> losses) {
        const std::size_t n = L_.size(), rounds = losses.shape(0);
        require(losses.shape(1) == n, "losses must have one column per item");
        Fresh<signed char> chosen(rounds, n);
        std::vector<i64> items(std::size_t(setup_.m));
        std::vector<double> chances(items.size()), paid(items.size());
        nb::gil_scoped_release free;
        for (std::size_t t = 0; t < rounds; ++t) {
            // Leaders need no probabilities if no loss is estimated and the scale does not depend on them.
            if (++drawn_; setup_.draw == SlateDraw::leaders && all_ && setup_.schedule.d == 0.0)
                run_.scale = scale_of(drawn_);
            else
                weigh(drawn_);
            if (is_fitted()) slates().condition(setup_, run_, setup_.m, true);
            draw(setup_.m, items.data());
            if (setup_.draw == SlateDraw::leaders && !ordered_) slates().shuffle(run_, setup_.m, items.data());
            signed char* const row_chosen = chosen.data + t * n;
            for (std::size_t k = 0; k < items.size(); ++k)
                row_chosen[std::size_t(items[k])] = static_cast<signed char>(ordered_ ? k + 1 : 1);
            if (all_) {
                const double* row = losses.data() + t * n;
                double mean = 0.0;
                for (std::size_t i = 0; i < n; ++i) {
                    mean += x_[i] * row[i];
                    L_[i] += row[i];
                }
                mean_ += mean;
                continue;
            }
            if (has_baselines()) slates().baselines(setup_, run_, baselines_.data());
            for (std::size_t k = 0; k < items.size(); ++k) {
                chances[k] = x_[std::size_t(items[k])];
                paid[k] = losses.data()[t * n + std::size_t(items[k])];
            }
            slates().settle(setup_, run_, setup_.m, items.data(), chances.data(), paid.data(),
                            has_baselines() ? baselines_.data() : nullptr);
        }
        nb::gil_scoped_acquire held;
        return chosen.give();
    }
};

}  // namespace

void bind_slates(nb::module_& m) {
    nb::class_<Slates>(m, "Slates", "One run of a learner that chooses m of n items per round.")
        .def(nb::init<i64, i64, double, double, double, int, double, In<u64>, double, int, int, bool, bool>(), "n"_a, "m"_a,
             nb::kw_only(), "c"_a, "a"_a, "b"_a, "estimator"_a, "gamma"_a, "words"_a, "d"_a = 0.0, "play"_a = 0, "draw"_a = 0,
             "all"_a = false, "ordered"_a = false)
        .def("act", &Slates::act, "available"_a = nb::none(),
             "Return (items, inclusion probabilities, data for settling, probability of the slate or None).")
        .def("settle_all", &Slates::settle_all, "losses"_a, "kept"_a, "Settle a round of which all losses are observed.")
        .def("settle", &Slates::settle, "items"_a, "probabilities"_a, "losses"_a, "kept"_a.none())
        .def("play", &Slates::play, "losses"_a, "Play whole rounds; return one row of 0s and 1s per round, or of positions from 1 if slates are ordered.")
        .def("probabilities", &Slates::probabilities, "available"_a = nb::none(), "Return the inclusion probabilities of the next round.")
        .def("restore", &Slates::restore, "losses"_a, "drawn"_a)
        .def_prop_ro("losses", &Slates::losses)
        .def_prop_ro("drawn", &Slates::drawn)
        .def_prop_rw("mean", &Slates::mean, &Slates::set_mean, "Loss of the mean play, if all losses are observed.")
        .def_prop_rw("deviation", &Slates::deviation, &Slates::set_deviation,
                     "Largest relative difference of fitted and wanted inclusion probabilities.")
        .def_prop_rw("ratios", &Slates::ratios, &Slates::set_ratios, "Weights from which the next fit of the draw starts.")
        .def_prop_rw("words", &Slates::words, &Slates::set_words);
}

}  // namespace hn
