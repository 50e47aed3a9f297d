"""Convex sets, losses and noise; the perturbed leader: its argmin, solvers, and the best in hindsight."""
