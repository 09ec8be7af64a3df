"""Names in, numbers out: limits, prices, machines, flags and tables of resources, read from `profiles/`."""
