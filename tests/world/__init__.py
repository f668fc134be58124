"""The local world, asked from outside: every kind does what its truth says."""
