"""Selection of the findings that count: baseline, commits, comments."""
