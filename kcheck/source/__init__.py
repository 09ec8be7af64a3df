"""Text with spans; known, unset and unknown values; units; findings."""
