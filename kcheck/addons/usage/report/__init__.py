"""Bills in; text of one format out."""
