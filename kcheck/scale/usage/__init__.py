"""What pods and nodes were measured to use, joined to the code."""
