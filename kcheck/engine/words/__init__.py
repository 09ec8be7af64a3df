"""Vocabulary of rules: tables of words, and views of things as plain data."""
