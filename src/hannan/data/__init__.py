"""On your own data: combine forecasts, replay logs, route decisions.

`hannan.data.combine` mixes columns of forecasts, `hannan.data.replay` evaluates a learner on logged decisions,
`hannan.data.route` plays learners side by side on a table of losses. All read CSV and Parquet in chunks.
"""
