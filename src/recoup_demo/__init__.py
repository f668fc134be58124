"""The demo: a part for each domain in simulated time, and the local world of Gate Zero's companies.

Nothing in ``recoup`` imports this but ``recoup demo``, by name.
"""
