"""Define a cloud that only the tests know: the least that a new cloud needs."""
