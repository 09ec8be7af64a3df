autoscaling_profile = "OPTIMIZE_UTILIZATION"
pools               = 5
