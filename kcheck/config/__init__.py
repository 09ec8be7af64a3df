"""Settings, flags and schemas in; a checked Config out."""
