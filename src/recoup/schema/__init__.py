"""The schema as a whole: migrated, described, and compared with the declarations.

Everything here takes the list of domains and knows none of them by name.
"""
