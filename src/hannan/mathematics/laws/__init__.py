"""Perturbation distributions (laws): their base class, light and heavy tails of Table 1, and user-defined laws."""
