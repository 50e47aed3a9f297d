"""Learners over combinatorial decisions: sets with an argmin oracle, FPL and FPL-TRIX."""
