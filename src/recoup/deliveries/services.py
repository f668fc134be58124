"""Notices through services that the library apprise knows: mail, chat, pagers, by a URL of its own form.

The library is an extra, and is imported where a route needs it: that takes a second. It logs the URLs that it is given,
which are secrets, so it is kept from logging in this process.
"""

import logging
from collections.abc import Callable
from functools import lru_cache

from recoup.deliveries.webhooks import Undelivered, Unusable

EXTRA = "recoup[notify]"


@lru_cache(maxsize=32)  # routes are looked up before each use
def service(url: str, *, timeout_s: float) -> Callable[[str, str], None]:
    """A function that sends a title and a text. Unusable, in words without the URL, if the library cannot use it."""
    try:
        import apprise
    except ImportError:
        raise Unusable(f"needs the library apprise, which is not installed: pip install '{EXTRA}'") from None
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    try:
        found = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    except Exception:  # noqa: BLE001 - whatever a plugin makes of a URL; its words may hold a part of it
        found = None
    if found is None:
        raise Unusable("is not a URL that apprise can use")
    found.socket_connect_timeout = found.socket_read_timeout = timeout_s

    def send(title: str, text: str) -> None:
        # As text: a service that reads Markdown or HTML gets the characters of a message escaped.
        try:
            sent = found.notify(title=title, body=text, body_format=apprise.NotifyFormat.TEXT)
        except Exception as error:  # noqa: BLE001 - its words may hold the URL
            raise Undelivered(f"the service could not be used: {type(error).__name__}") from None
        if not sent:
            raise Undelivered(f"the service {found.service_name or 'behind it'} did not accept it")

    return send
