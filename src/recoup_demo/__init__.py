"""The demo: a play for each domain in simulated time, and the local world that Gate Zero's companies live in.

Beside the product and on top of it: nothing in ``recoup`` imports this but ``recoup demo``, by name.
"""
