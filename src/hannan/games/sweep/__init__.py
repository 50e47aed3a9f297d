"""Grids of games that can be interrupted and resumed: plan, keys of cells, output folder, processes and clusters."""
