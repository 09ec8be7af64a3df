"""Reports on all clusters of a fleet: as text, Markdown and a page."""
