"""What the tables of a fleet say to those who ask for all clusters at once: as text, Markdown and a page."""
