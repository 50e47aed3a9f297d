"""A grid of games that can be stopped and go on: its plan, the keys of its cells, its folder, and who computes it."""
