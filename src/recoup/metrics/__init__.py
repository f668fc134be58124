"""Metrics for Prometheus, read from the database: what every worker and every hub did, the same from every process.

What a scrape costs does not depend on how many rows there are: counts have a maximum, ages come from the first row of
an index, and rates are those that a worker measured for alerts some seconds ago. Every metric is declared once, in
:mod:`recoup.metrics.declared`, from which ``docs/reference/metrics.md`` is written.
"""
