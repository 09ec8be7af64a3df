"""Bytes to trees with byte spans, and back: one module or package per syntax."""
