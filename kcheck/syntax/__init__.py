"""Bytes in, trees with byte spans out, and back again: one module or package a syntax."""
