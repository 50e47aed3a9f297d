"""Players: running learners with tickets, late losses and certificates; one module per setting."""
