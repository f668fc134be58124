"""``recoup completion``"""

from typing import Literal

from recoup.cli.main import app


def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print a completion script for your shell. Write it to the file that the shell reads, and start a new shell.

    bash: recoup completion bash > ~/.local/share/bash-completion/completions/recoup

    zsh: recoup completion zsh > ~/.zfunc/_recoup, with fpath+=~/.zfunc before compinit in ~/.zshrc

    fish: recoup completion fish > ~/.config/fish/completions/recoup.fish

    Parameters
    ----------
    shell
        Your shell.
    """
    print(app.generate_completion(shell=shell))
