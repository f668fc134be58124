"""A small domain, for the tests only: parcels that are sorted by a duty and shipped by people."""
