"""``rmqalloc completion``: what makes a shell complete verbs and options."""

import click

from rmqalloc.cli._choices import Choice
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._sink import hand_over

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Verb)
@click.argument("shell", type=Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the shell script that completes verbs and options.

    \b
    bash:  rmqalloc completion bash > ~/.local/share/bash-completion/completions/rmqalloc
    zsh:   rmqalloc completion zsh > "${fpath[1]}/_rmqalloc"
    fish:  rmqalloc completion fish > ~/.config/fish/completions/rmqalloc.fish
    """
    from click.shell_completion import get_completion_class

    maker = get_completion_class(shell)
    if maker is None:
        raise click.ClickException(
            f"the installed click cannot write a completion script for {shell}"
        )
    hand_over(maker(ctx.find_root().command, {}, "rmqalloc", "_RMQALLOC_COMPLETE").source(), end="")
