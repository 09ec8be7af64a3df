"""Rules and a world in; findings, and what could not be decided, out."""
