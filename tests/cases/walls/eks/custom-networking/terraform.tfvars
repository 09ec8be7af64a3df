zones = {
  eu-central-1a = { nodes = "10.7.0.0/24", pods = "100.64.0.0/23" }
  eu-central-1b = { nodes = "10.7.1.0/24", pods = "100.64.2.0/23" }
}
