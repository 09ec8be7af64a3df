"""Export rules about single objects as policies for the API server, by a table of words as CEL."""
