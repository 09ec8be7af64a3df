autoscaler_flags = {
  kube-client-burst              = "2000"
  kube-client-qps                = "1000"
  max-empty-bulk-delete          = "1000"
  scale-down-delay-after-add     = "0s"
  scale-down-delay-after-failure = "0s"
  scale-down-unneeded-time       = "10m"
}
