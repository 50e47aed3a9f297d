"""The compiled part: the only place that imports numba. Import its modules lazily; this one is empty."""
