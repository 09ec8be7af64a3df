"""Many repositories checked side by side, and what is to be said of them together."""
