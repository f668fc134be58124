"""``recoup help``"""

from recoup.cli.main import app


def help_(*command: str) -> None:
    """Show the help of a command, as its --help does.

    For example: recoup help errors list

    Parameters
    ----------
    command
        The command. Default: recoup itself.
    """
    app([*command, "--help"])
