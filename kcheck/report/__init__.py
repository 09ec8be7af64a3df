"""Results in; text of one format out, by a module that is imported when it is asked for."""
