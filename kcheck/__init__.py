"""kcheck: what breaks first when a training job on Kubernetes scales to N nodes."""

__version__ = "0.1.0"

TYPE_CHECKING = False  # that of typing takes 3 ms to import
if TYPE_CHECKING:
    from kcheck.api import Project, load, rules
    from kcheck.engine.rule import Rule
    from kcheck.fix.fix import Fixes, Refused
    from kcheck.model import Cluster, Inventory, NodePool
    from kcheck.report.formats import Report
    from kcheck.scale.walls.model import Wall
    from kcheck.text.errors import Error
    from kcheck.text.files.save import File
    from kcheck.text.findings import Change, Finding, Fix, Severity, Undecided
    from kcheck.text.text import Span
    from kcheck.text.values import Known, Origin, Unknown, Unset

__all__ = (
    "Change", "Cluster", "Error", "File", "Finding", "Fix", "Fixes", "Inventory", "Known", "NodePool", "Origin",
    "Project", "Refused", "Report", "Rule", "Severity", "Span", "Undecided", "Unknown", "Unset", "Wall", "load",
    "rules",
)  # fmt: skip


if not TYPE_CHECKING:
    _HOMES = {
        "api": ("Project", "load", "rules"),
        "engine.rule": ("Rule",),
        "fix.fix": ("Fixes", "Refused"),
        "model": ("Cluster", "Inventory", "NodePool"),
        "report.formats": ("Report",),
        "scale.walls.model": ("Wall",),
        "text.errors": ("Error",),
        "text.files.save": ("File",),
        "text.findings": ("Change", "Finding", "Fix", "Severity", "Undecided"),
        "text.text": ("Span",),
        "text.values": ("Known", "Origin", "Unknown", "Unset"),
    }
    """Public names by the modules that define them, imported when a name is used."""

    def __getattr__(name):
        """Import a public name."""
        from importlib import import_module

        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"kcheck.{home}"), name)
        raise AttributeError(f"module 'kcheck' has no attribute {name!r}")
