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
    std::vector<double> L_, x_, baselines_;
    std::vector<u64> exact_;
    std::vector<i32> order_, shuffled_;
    i64 drawn_ = 0;

    bool has_baselines() const { return setup_.estimator == SlateEstimator::reduced_variance; }
    double scale_of(i64 round) const {
        return setup_.schedule.c * std::sqrt(setup_.schedule.a + setup_.schedule.b * double(round));
    }
    void weigh(i64 round) { slates().weigh(setup_, run_, scale_of(round)); }
    void place() {
        run_.L = L_.data();
        run_.x = x_.data();
        run_.exact = exact_.data();
        run_.order = order_.data();
        run_.shuffled = shuffled_.data();
    }

public:
    Slates(i64 n, i64 m, double c, double a, double b, int estimator, double gamma, In<u64> words) {
        require(n >= 1 && n < (i64(1) << 31) && m >= 1 && m <= n, "a slate must have 1 to n items");
        require(estimator >= 0 && estimator <= 2 && gamma >= 0.0, "the estimator must be known, and gamma >= 0");
        require(words.size() == 4, "a stream has four words");
        setup_ = {n, m, Schedule{c, a, b, 0.0}, SlateEstimator(estimator), gamma};
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

    nb::object probabilities() {
        weigh(drawn_ + 1);
        Fresh<double> out(x_.size());
        for (std::size_t i = 0; i < x_.size(); ++i) out.data[i] = x_[i];
        return out.give();
    }
    /// Items in random order, their inclusion probabilities, and the items with a baseline of this round (or None).
    nb::tuple act() {
        weigh(++drawn_);
        std::vector<i64> items(std::size_t(setup_.m));
        slates().draw(setup_, run_, items.data());
        nb::list chosen, chances;
        for (const i64 item : items) {
            chosen.append(item);
            chances.append(x_[std::size_t(item)]);
        }
        nb::object kept = nb::none();
        if (has_baselines()) {
            slates().baselines(setup_, run_, baselines_.data());
            Fresh<bool> mask(L_.size());
            for (std::size_t i = 0; i < L_.size(); ++i) mask.data[i] = baselines_[i] != 0.0;
            kept = mask.give();
        }
        return nb::make_tuple(nb::tuple(chosen), nb::tuple(chances), kept);
    }
    void settle(In<i64> items, In<double> probabilities, In<double> losses, nb::object kept) {
        const std::size_t m = std::size_t(setup_.m);
        require(items.size() == m && probabilities.size() == m && losses.size() == m, "items, probabilities and losses must have one number per item of the slate");
        for (std::size_t k = 0; k < m; ++k) {
            require(items.data()[k] >= 0 && items.data()[k] < setup_.n, "items must be integers from 0 to n - 1");
            require(probabilities.data()[k] > 0.0 && probabilities.data()[k] <= 1.0, "probabilities must be in (0, 1]");
            require(losses.data()[k] >= 0.0 && losses.data()[k] <= 1.0, "losses must be in [0, 1]");
        }
        const double* baselines = nullptr;
        if (has_baselines()) {
            const auto mask = nb::cast<In<bool>>(kept);
            require(mask.size() == L_.size(), "baselines must have one entry per item");
            for (std::size_t i = 0; i < L_.size(); ++i) baselines_[i] = mask.data()[i] ? 0.5 : 0.0;
            baselines = baselines_.data();
        }
        slates().settle(setup_, run_, items.data(), probabilities.data(), losses.data(), baselines);
    }
    /// Whole rounds with prompt feedback: one row of 0s and 1s per round.
    nb::object play(Table2<double> losses) {
        const std::size_t n = L_.size(), rounds = losses.shape(0);
        require(losses.shape(1) == n, "losses must have one column per item");
        Fresh<signed char> chosen(rounds, n);
        std::vector<i64> items(std::size_t(setup_.m));
        std::vector<double> chances(items.size()), paid(items.size());
        nb::gil_scoped_release free;
        for (std::size_t t = 0; t < rounds; ++t) {
            weigh(++drawn_);
            slates().draw(setup_, run_, items.data());
            if (has_baselines()) slates().baselines(setup_, run_, baselines_.data());
            for (std::size_t k = 0; k < items.size(); ++k) {
                chances[k] = x_[std::size_t(items[k])];
                paid[k] = losses.data()[t * n + std::size_t(items[k])];
                chosen.data[t * n + std::size_t(items[k])] = 1;
            }
            slates().settle(setup_, run_, items.data(), chances.data(), paid.data(),
                            has_baselines() ? baselines_.data() : nullptr);
        }
        nb::gil_scoped_acquire held;
        return chosen.give();
    }
};

}  // namespace

void bind_slates(nb::module_& m) {
    nb::class_<Slates>(m, "Slates", "One run of a learner that chooses m of n items per round.")
        .def(nb::init<i64, i64, double, double, double, int, double, In<u64>>(), "n"_a, "m"_a, "c"_a, "a"_a, "b"_a,
             "estimator"_a, "gamma"_a, "words"_a)
        .def("act", &Slates::act, "Return (items, inclusion probabilities, mask of baselines or None).")
        .def("settle", &Slates::settle, "items"_a, "probabilities"_a, "losses"_a, "baselines"_a.none())
        .def("play", &Slates::play, "losses"_a, "Play whole rounds; return one row of 0s and 1s per round.")
        .def("probabilities", &Slates::probabilities, "Return the inclusion probabilities of the next round.")
        .def("restore", &Slates::restore, "losses"_a, "drawn"_a)
        .def_prop_ro("losses", &Slates::losses)
        .def_prop_ro("drawn", &Slates::drawn)
        .def_prop_rw("words", &Slates::words, &Slates::set_words);
}

}  // namespace hn
