"""One job under an autoscaler, second by second: how long it takes, what is paid for, and which setting costs it."""
