"""Signatures and categories: fixed keys, hostile texts, and how well they do on the development set."""
