"""kcheck.yaml, flags and profiles in; settings and numbers out."""
