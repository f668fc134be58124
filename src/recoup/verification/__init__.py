"""Verification over the network: DNS, the site, the company directory, the state. It does not use the database.

Each check has a timeout, each answer a maximum size, and no request goes to private networks. ``VERDICTS`` maps each
finding to one of the eight reason codes.
"""
