"""Tables as they come: CSV, Parquet, frames in memory; what is wrong is named by row and column."""
