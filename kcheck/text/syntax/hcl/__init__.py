"""HCL: bytes to bodies and expressions with byte spans; literals and insertions for fixes."""
