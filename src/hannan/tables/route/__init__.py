"""A full table of losses, played as a bandit and as experts, learners side by side."""
