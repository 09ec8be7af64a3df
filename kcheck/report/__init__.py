"""Results in; text of one format out, each by a module that is imported on demand."""
