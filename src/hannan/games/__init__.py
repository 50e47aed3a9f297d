"""Whole games: `play` runs one learner, `compare` many against many, `sweep` a grid that can stop and go on."""
