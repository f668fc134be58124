"""The schema as a whole: brought to a release, described, compared with what was declared, and audited for it.

Everything here takes the list of domains and knows none of them by name.
"""
