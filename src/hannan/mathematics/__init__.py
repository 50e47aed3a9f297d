"""What is true before anyone plays: divergences, laws, regularizers, potentials, stability, and every regret bound."""
