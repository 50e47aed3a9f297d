"""Mathematics without players: divergences, laws, regularizers, potentials, stability, and every regret bound."""
