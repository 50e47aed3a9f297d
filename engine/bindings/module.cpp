// Module hannan._engine: calls the registration function of each part.
#include "../players/guards.hpp"
#include "registration.hpp"
#include "setup.hpp"

NB_MODULE(_engine, m) {
    m.doc() = "The compiled engine of hannan: smoothings, rounds, players, games.";
    nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const hn::Unsolved& error) {
            auto* law = static_cast<hn::Description*>(error.asked);
            if (law == nullptr || !hn::raised_again(*law)) PyErr_SetString(PyExc_ArithmeticError, error.what());
        }
    });
    hn::bind_mathematics(m);
    hn::bind_setup(m);
    hn::bind_potentials(m);
    hn::bind_players(m);
    hn::bind_fleets(m);
    hn::bind_journal(m);
    hn::bind_signing(m);
    hn::bind_games(m);
    hn::bind_tables(m);
    hn::bind_combination(m);
    hn::bind_panel(m);
    hn::bind_convex(m);
    hn::bind_evidence(m);
    hn::bind_slates(m);
    hn::bind_coverage(m);
}
