"""Limits, prices, machines, flags and resource tables, from `profiles/`."""
