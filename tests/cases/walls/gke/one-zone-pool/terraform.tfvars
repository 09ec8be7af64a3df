project = "acme-sim"
range   = "10.0.0.0/8"
