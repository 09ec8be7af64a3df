"""Words of each subject, with type, unit and meaning."""
