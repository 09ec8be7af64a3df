"""Parse bytes into trees with byte spans, and edit them: one module per syntax."""
