"""A cloud that only the tests know: what a further cloud needs."""
