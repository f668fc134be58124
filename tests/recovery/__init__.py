"""Tests of the recovery domain."""
