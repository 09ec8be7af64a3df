"""Checks of many repositories, and reports on all of them together."""
