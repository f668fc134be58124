"""``recoup console``"""

from cyclopts import App

from recoup.cli.context import opened
from recoup.cli.output import Demo, command, say
from recoup.refusals import InputRefused
from recoup.service import keys, local, sessions
from recoup.settings import load
from recoup.up.home import serving

app = App(name="console", help="Open the console in a browser.")


@app.command
def link(*, demo: Demo = False) -> None:
    """Print an address that opens the console in your name, once, within ten minutes.

    For a service without keys, on this machine. With keys, sign in with one instead.
    """
    settings = load()
    with opened(settings=settings, demo=demo) as database:
        if keys.exist(database):
            raise InputRefused(
                "keys_exist",
                "This service has keys: everybody signs in with their own.",
                f"Sign in with a key. Make one: {command('keys add', demo=demo)} NAME --role operator",
            )
        token = sessions.new_link(database, local(settings.actor)).token
    found = None if settings.dsn is not None else serving(settings)
    at = found.address if found is not None and found.address else f"http://{settings.api_host}:{settings.api_port}"
    print(f"{at}/link/{token}")
    say("It works once, within ten minutes." if found else "It works once, within ten minutes, where the API listens.")
