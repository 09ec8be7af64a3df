"""Self-contained HTML pages and pictures with one design."""
