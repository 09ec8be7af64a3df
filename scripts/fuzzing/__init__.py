"""Hostile input for kcheck: a corpus, mutations, what is fed with them, and smaller inputs that fail alike."""
