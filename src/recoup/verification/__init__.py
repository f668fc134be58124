"""Verification that really looks: DNS, the site, the company directory, the state. It knows nothing of the database.

Each check has its time, each answer its bound, and no request goes where the public internet does not reach. What is
found becomes one of the eight reason codes by one table, ``VERDICTS``.
"""
