"""Claims of stability, measured: exactly where the play is known, by sampling where it is a stranger's."""
