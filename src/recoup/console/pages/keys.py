"""Keys of the API, for those who manage them, and calls that were denied."""

from recoup.api.routes import keys as routes
from recoup.console.declare import Context, Seen
from recoup.console.pages.control import CONTROL
from recoup.lifecycles.declaration import Authority

DENIED = 50


@CONTROL.page("/control/keys", "control/keys.html", authority=Authority.KEY_MANAGER, whole=True)
def keys(seen: Seen) -> Context:
    """Keys, newest first, and calls that were denied."""
    asked = seen.asked(routes.KeysAsked)
    return {
        "page": routes.list_keys(seen.tx, asked=asked),
        "all": asked.all,
        "denied": routes.list_denied(seen.tx, limit=DENIED).items,
        "keyed": seen.caller.key_id is not None,
    }
