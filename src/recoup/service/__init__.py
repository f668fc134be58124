"""What the API and the console are built on: keys with a role and a hub, sessions, idempotency, rates, denied calls.

A caller is a :class:`Principal`. :func:`acting` opens the transaction of a call in an authority that the caller's role
has, under the caller's name, and within the caller's hub.
"""

from recoup.service.acting import acting, check_may, check_whole
from recoup.service.idempotency import Stored, answered, digest, once
from recoup.service.keys import Denied, Key, NewKey, authenticate
from recoup.service.limits import Limiter, RateLimited
from recoup.service.principal import Principal, local
from recoup.service.roles import Role, authorities

__all__ = [
    "Denied",
    "Key",
    "Limiter",
    "NewKey",
    "Principal",
    "RateLimited",
    "Role",
    "Stored",
    "acting",
    "answered",
    "authenticate",
    "authorities",
    "check_may",
    "check_whole",
    "digest",
    "local",
    "once",
]
