"""What `kcheck init` proposes: settings, a hook for pre-commit, a job for CI."""
