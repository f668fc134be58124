"""Shipped extractors: files that match a pattern, and a SQL query of PostgreSQL. Their options are in the policy.

``extractor = "recoup.partitions.extractors.files:extract"`` in a query of the registry, with its options under
``extract_with``; a fallback's alternative replaces some of them.
"""
