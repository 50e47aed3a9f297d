"""A learner at play: tickets out, losses in, certificates; one player a setting."""
