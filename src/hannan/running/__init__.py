"""How a game runs: losses come in blocks (`feeds`), runners play them (`runners`), checkpoints are kept."""
