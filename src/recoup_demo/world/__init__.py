"""The local world: real DNS, real sites and a real company directory on loopback, where the truth is known.

Demo, tests and bench verify its made-up companies with the very program that verifies real ones; only the addresses
differ. Everything lives in 127.77.0.0/16.
"""

from recoup_demo.world.companies import Company, companies
from recoup_demo.world.kinds import MIX, Kind
from recoup_demo.world.process import World

__all__ = ["MIX", "Company", "Kind", "World", "companies"]
