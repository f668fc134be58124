"""Tests of the errors domain."""
