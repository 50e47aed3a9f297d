"""What a learner would have cost, from a log of decisions that another policy made."""
