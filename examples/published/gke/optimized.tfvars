autoscaling_profile = "OPTIMIZE_UTILIZATION"
