"""A job and a cluster in; how long it takes, what is paid for, and which setting costs it, out."""
