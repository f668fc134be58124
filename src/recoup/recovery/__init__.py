"""Recovery: what happens to a failure that its own retries did not end.

A failure becomes a match, an evaluation proposes an action for it as a candidate, and a candidate is executed at most
once, within a scope, approved by a person or automatic by rule. It has succeeded when the failure is gone.
"""
