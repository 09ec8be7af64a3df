"""Bytes in; spans, trees, values, files and edits out."""
