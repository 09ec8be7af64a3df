"""What `scripts/refresh` derives, one module a part: each has `derive`, which returns the new text of files."""
