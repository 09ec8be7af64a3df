"""Resources and objects in; clusters, pools and subnets out. One folder a cloud: all that only that cloud means."""
