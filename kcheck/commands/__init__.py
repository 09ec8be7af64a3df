"""The user's words in; exit status and output out: one module a command."""
