"""Reports on all clusters of a fleet from its tables: as text, Markdown and a page."""
