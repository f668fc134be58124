"""``recoup completion``"""

from typing import Literal

from recoup.cli.main import app


def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print a completion script. For bash: recoup completion bash > ~/.local/share/bash-completion/completions/recoup

    Parameters
    ----------
    shell
        Which shell it is for.
    """
    print(app.generate_completion(shell=shell))
