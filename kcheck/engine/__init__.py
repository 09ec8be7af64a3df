"""Rules and a world in; findings and undecided checks out."""
