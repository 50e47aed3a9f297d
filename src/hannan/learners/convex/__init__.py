"""Online convex and linear optimization: the learner, its bounds and its privacy, and gradient descent for
comparison.
"""
