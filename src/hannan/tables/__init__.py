"""Learners on tables of data: combine forecasts, replay logs, compare learners.

`tables.combine` combines columns of forecasts, `tables.replay` evaluates learners on logged decisions, and
`tables.route` compares learners on a table of losses. All read CSV and Parquet files in chunks.
"""
