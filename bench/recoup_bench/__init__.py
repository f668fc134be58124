"""How fast Recoup is, beside hand-written SQL that makes the same rows on the same server in the same minutes.

Machines differ and are noisy, so an absolute figure says little. Each workload runs in interleaved rounds, ours and
raw, and the ratio of their medians is the result. Afterwards both sides must hold the same rows by count: a bench that
compares unlike work is refused by itself.
"""
