"""Work that is claimed under a lease: queues, claims, outcomes."""
