autoscaler_flags = {
  max-empty-bulk-delete          = "100"
  max-total-unready-percentage   = "100"
  new-pod-scale-up-delay         = "1m"
  ok-total-unready-count         = "1000"
  scale-down-delay-after-delete  = "0s"
  scale-down-delay-after-failure = "0s"
  scale-down-unneeded-time       = "1m"
}
