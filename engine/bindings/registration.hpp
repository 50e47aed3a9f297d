// Registration functions: bindings/<name>.cpp defines bind_<name>, bindings/module.cpp calls it.
#pragma once

#include <nanobind/nanobind.h>

namespace hn {

void bind_mathematics(nanobind::module_& m);
void bind_setup(nanobind::module_& m);
void bind_tables(nanobind::module_& m);
void bind_combination(nanobind::module_& m);
void bind_panel(nanobind::module_& m);
void bind_players(nanobind::module_& m);
void bind_fleets(nanobind::module_& m);
void bind_journal(nanobind::module_& m);
void bind_signing(nanobind::module_& m);
void bind_games(nanobind::module_& m);
void bind_potentials(nanobind::module_& m);
void bind_evidence(nanobind::module_& m);
void bind_slates(nanobind::module_& m);
void bind_coverage(nanobind::module_& m);
void bind_convex(nanobind::module_& m);

}  // namespace hn
