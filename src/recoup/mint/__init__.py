"""The mint: an authorised company gets its sovereign identity, once.

Authorisation comes from AIR: the mint subscribes to Gate Zero's AUTH events, and reads, mints and acknowledges in one
transaction. Data stays where it was created: name and domain come from the intake. After a re-entry AUTH names the
original intake, and the identity belongs to the new one.
"""

from recoup.mint.identities import AUTHORIZATIONS, SUBSCRIPTION, Identity, identities, identities_of, mint, mint_lag

__all__ = ["AUTHORIZATIONS", "SUBSCRIPTION", "Identity", "identities", "identities_of", "mint", "mint_lag"]
