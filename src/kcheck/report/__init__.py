"""Findings as text, JSON, ...: one module a format, imported when it is asked for."""
