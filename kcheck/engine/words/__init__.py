"""Vocabulary of rules: tables of words, and views of objects as plain data."""
