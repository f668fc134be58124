"""The local world: real DNS, real sites and a real company directory on loopback, where the truth is known.

Demo, tests and bench verify its made-up companies with the very program that verifies real ones; only the addresses
differ. Everything lives in 127.77.0.0/16, and a canary listens at 127.0.0.1 for whoever is led astray.
"""

from recoup.world.companies import Company, companies
from recoup.world.kinds import HOSTILE, MIX, SERVICE_FAULTS, Kind
from recoup.world.process import World

__all__ = ["HOSTILE", "MIX", "SERVICE_FAULTS", "Company", "Kind", "World", "companies"]
