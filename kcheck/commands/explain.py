"""kcheck explain."""

import click

from kcheck.commands import options, printing


@click.command("explain", cls=options.Command)
@click.argument("name", metavar="RULE|LIMIT|WORD|WALL", shell_complete=options.complete_names)
@options.with_flags
def command(name: str, paths: tuple[str, ...]) -> None:
    """Explain a rule: why it exists, its condition, where its numbers come from, and an example.

    For a LIMIT such as eks.pool.quota or pool.quota: its value, its source and date, and what uses it.
    For a WORD such as subnet.cidr: its meaning, its type, and the rules that use it; for subnet: its words.

    With PATH, also the calculation of each wall there that NAME is about, with its inputs and their places: of a rule,
    a limit, or a WALL such as subnet or docker-hub.
    """
    from difflib import get_close_matches

    from kcheck.api import Project
    from kcheck.engine import rules
    from kcheck.report import layout, limit, model, rule, word

    config = click.get_current_context().obj.settings(paths)
    known = rules.all_rules(config.rules)
    former = rules.former([name], config)
    options.tell_renamed(former)
    name = former.get(name, name)
    found = next((own for own in known if own.name == name), None)
    pages = [rule.as_text(found, known)] if found is not None else []
    if paths and (mechanisms := model.mechanisms(name, found)):
        pages += model.wall_pages(mechanisms, Project(paths, config).world)
    elif found is None:
        of_word, limits = word.as_text(name, known), limit.meant(name)
        pages = [*([of_word] if of_word else []), *(limit.as_text(full, entry) for full, entry in limits.items())]
    if not pages:
        numbers = {
            part for full in limit.names() for part in (full.partition(".")[2], full.split(".", 2)[2])
        }  # with a cloud and without
        names = [*(own.name for own in known), *numbers, *word.names()]
        close = get_close_matches(name.removeprefix("limits."), sorted(names), n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "`kcheck rules` lists the rules"
        raise click.UsageError(f"there is no rule, limit or word `{name}`; {hint}")
    for number, one in enumerate(pages):
        printing.page((*((layout.Line(),) if number else ()), *one))
