"""kcheck export."""

import click

from kcheck.addons.admission import export
from kcheck.commands import options, printing
from kcheck.config.config import Config


@click.group("export", cls=options.Group)
def command() -> None:
    """Export rules for other tools: `admission` for the API server of Kubernetes."""


@command.command("admission", short_help="Export rules as ValidatingAdmissionPolicies.")
@options.with_config
@click.option(
    "--rule", "names", multiple=True, metavar="RULE", shell_complete=options.complete_rules,
    help="Export only this rule; may be repeated.",
)  # fmt: skip
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Export only this group; may be repeated.")
@click.option(
    "--action", type=click.Choice(["Warn", "Audit", "Deny"]), default="Warn", show_default=True,
    help="What the API server does on a finding.",
)  # fmt: skip
@click.option(
    "--format", "format_", type=click.Choice(["vap", "kyverno"]), default="vap", show_default=True,
    help="ValidatingAdmissionPolicies, or ValidatingPolicies of Kyverno.",
)  # fmt: skip
@click.option(
    "--namespace", default="kube-system", show_default=True, metavar="NAME", help="Namespace of the ConfigMap."
)
@click.option("--info", is_flag=True, help="Also export findings of severity info.")
@click.option("--list", "listed", is_flag=True, help="List what each rule needs, and export nothing.")
def admission(
    paths: tuple[str, ...], config: Config, names: tuple[str, ...], groups: tuple[str, ...], action: str, format_: str,
    namespace: str, *, info: bool, listed: bool,
) -> None:  # fmt: skip
    """Export the rules about one Kubernetes object as policies that the API server runs.

    With PATH it also exports rules that need taints, GPUs or queues of the code: their values go into a ConfigMap. An
    object with the annotation `kcheck.dev/ignore: RULE, RULE: reason` is not judged by these rules.
    """
    known = export.read(options.read_tree(paths, config), config) if paths else None
    chosen = export.select(config, (*names, *groups), known, info=info)
    if not listed and (wrong := [why for name in names if (why := export.why_not(name, chosen))]):
        raise click.UsageError("; ".join(wrong))
    if listed:
        printing.page(export.as_text(chosen))
        return
    printing.page(export.manifests_of(chosen, action, format_, namespace))
    printing.note(f"kcheck: {export.summary(chosen)}")
