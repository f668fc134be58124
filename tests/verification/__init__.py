"""The verifier, against real DNS, sites and directories on loopback."""
