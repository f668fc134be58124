"""How fast Recoup is, compared with hand-written SQL that makes the same rows on the same server at the same time.

Machines differ and are noisy, so an absolute number means little. Each workload runs in interleaved rounds, ours and
raw, and the ratio of their medians is the result. Afterwards both sides must hold the same rows by count: the bench
refuses to compare different work.
"""
