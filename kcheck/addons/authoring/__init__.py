"""Write rules of one's own: a first draft, its examples, and the standards of kcheck's rules."""
