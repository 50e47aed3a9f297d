"""Readers of tables: CSV, Parquet, and frames in memory. Errors name the row and the column."""
