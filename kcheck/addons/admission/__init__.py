"""Export rules about single objects as policies for the API server."""
