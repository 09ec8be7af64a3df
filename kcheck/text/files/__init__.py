"""Find and read the files of a tree, and save changes."""
