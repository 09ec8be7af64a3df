"""kcheck rules."""

import os
import sys

import click

from kcheck.addons.authoring import new_rule, rule_examples
from kcheck.commands import options, printing
from kcheck.engine import rule_words, rules
from kcheck.engine.rule import Rule, RuleError
from kcheck.report import rule as page
from kcheck.text.units import counted


@click.group("rules", cls=options.Group, invoke_without_command=True)
@options.own_rules
@click.option("--test", "tested", metavar="PATH", help="Run the examples of the rules in PATH, a folder or a file.")
@click.option("--strict", is_flag=True, help="With --test, hold them to the standards of kcheck's own rules.")
@click.pass_context
def command(context: click.Context, folders: tuple[str, ...], tested: str | None, strict: bool) -> None:
    """List the rules by group: severity, whether kcheck can fix it, what it finds.

    With --test, exits with 0 if all examples show what they say, 1 if one does not, 2 if a file is not a rule.
    """
    if context.invoked_subcommand:
        return

    if tested is None:
        printing.page(page.listing(rules.all_rules(options.rule_folders(folders))))
        return
    beside = tuple(os.path.abspath(folder) for folder in (*folders, tested))
    own = _read(tested, beside)
    failed = 0
    for rule in own:
        wrong = _failures(rule, beside, strict=strict)
        failed += bool(wrong)
        count = len(rule.documentation.examples)
        what = counted(count, "example") if count else "no examples, nothing is shown"
        printing.line(f"{'FAILED' if wrong else 'ok' if count else '--'} {rule.group}/{rule.name}: {what}")
        for text in wrong:
            printing.page("".join(f"{f'  {line}'.rstrip()}\n" for line in text.splitlines()))
    printing.note(f"{counted(len(own), 'rule')}, {failed or 'none'} failed.")
    if failed:
        sys.exit(1)


def _read(folder: str, beside: tuple[str, ...]) -> list[Rule]:
    """Read the rules of a folder; print mistakes and exit with 2 if there are any."""
    try:
        own = rules.read(folder)
        rules.all_rules(beside)
    except RuleError as error:
        for text in error.lines:
            printing.note(text)
        sys.exit(2)
    return own


def _failures(rule: Rule, folders: tuple[str, ...], *, strict: bool) -> list[str]:
    """List the mistakes in a rule with their lines, and the failures of its examples."""
    wrong = list(rule_examples.misplaced_presence(rule))
    for example in rule.documentation.examples:
        run = rule_examples.ExampleRun(rule, example, folders)
        wrong += run.failures()
        wrong += rule_examples.headline_failures(run.findings()) if strict else []
    wrong += rule_examples.shortcomings(rule) if strict else []
    return rule_words.located(rule, wrong)


@command.command("new", short_help="Write a rule of your own that works, to be changed.")
@click.argument("name", metavar="[GROUP/]NAME")
@click.option(
    "--dir", "folder", metavar="DIR", help="The folder of your rules.  [default: that of kcheck.yaml, else policies]"
)
@click.option(
    "--subject", default="object", show_default=True, metavar="SUBJECT",
    help="What it judges, such as object, resource, workload or pool.",
)  # fmt: skip
def new(name: str, folder: str | None, subject: str) -> None:
    """Write DIR/GROUP/NAME.yaml: a rule that passes `kcheck rules --test DIR`, with comments that say what to change.

    Name it after the mistake, such as pod-without-team. Exits with 2 if the rule exists.
    """
    own = folder or next(iter(options.rule_folders(())), "policies")
    path = new_rule.write(name, own, subject)
    printing.line(f"wrote {path}")
    test, last = new_rule.next_steps(path, own)
    printing.note(f"Next: change it, test it with `{test}`, and {last}.")
