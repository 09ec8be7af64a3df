"""Language server: findings, fixes and values shown in the code."""
