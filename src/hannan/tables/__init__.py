"""On your own data: combine forecasts, replay logs, route decisions.

`tables.combine` mixes columns of forecasts, `tables.replay` evaluates a learner on logged decisions,
`tables.route` plays learners side by side on a table of losses. All read CSV and Parquet in chunks.
"""
