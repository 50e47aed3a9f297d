"""Whole games: `play` runs one learner, `compare` many learners in many environments, `sweep` a resumable grid."""
