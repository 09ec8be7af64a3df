"""HCL: bytes to bodies and expressions with byte spans."""
