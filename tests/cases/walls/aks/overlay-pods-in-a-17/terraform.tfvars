pools = {
  tools = {
    size      = "Standard_D8ds_v5"
    min       = 2
    max       = 2
    max_surge = "1"
  }
  train = {
    size      = "Standard_NC96ads_A100_v4"
    min       = 0
    max       = 200
    max_surge = "10%"
    taints    = ["sku=gpu:NoSchedule"]
  }
}
