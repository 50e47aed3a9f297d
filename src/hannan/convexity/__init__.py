"""Objective perturbation inside: the leader and its solver, players and games, bounds, audits, privacy."""
