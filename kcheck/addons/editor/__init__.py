"""The language server: what kcheck knows, shown where the code is written."""
