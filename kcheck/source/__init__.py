"""Bytes in, places out: text with spans, values that are known, unset or unknown, units, findings."""
