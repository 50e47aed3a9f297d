// Module hannan._engine: calls the registration function of each part.
#include "registration.hpp"

NB_MODULE(_engine, m) {
    m.doc() = "The compiled engine of hannan: smoothings, rounds, players, games.";
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
