"""Online convex and linear optimisation: the learner, its bounds and its privacy; gradient descent beside it."""
