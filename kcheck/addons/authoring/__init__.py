"""Write custom rules: a draft, its examples, and kcheck's own standards."""
