# Before the other charts: their ServiceMonitors are a kind that it brings.
resource "helm_release" "monitoring" {
  name             = "monitoring"
  namespace        = "monitoring"
  create_namespace = true
  repository       = "oci://ghcr.io/prometheus-community/charts"
  chart            = "kube-prometheus-stack"
  version          = "88.5.3" # the version that values/monitoring.yaml is written for

  values = [
    file("${path.module}/values/monitoring.yaml"),
  ]

  depends_on = [module.eks]
}

resource "helm_release" "kueue" {
  name             = "kueue"
  namespace        = "kueue-system"
  create_namespace = true
  repository       = "oci://registry.k8s.io/kueue/charts"
  chart            = "kueue"
  version          = "0.19.2" # the version that these queues are written for

  values = [
    file("${path.module}/values/kueue.yaml"),
  ]

  depends_on = [helm_release.monitoring]
}

# The kind of job that Kueue starts as a whole; PyTorchJobs, MPIJobs and TrainJobs bring operators of their own.
resource "helm_release" "jobset" {
  name             = "jobset"
  namespace        = "jobset-system"
  create_namespace = true
  repository       = "oci://registry.k8s.io/jobset/charts"
  chart            = "jobset"
  version          = "0.12.0" # the version that this job is written for

  depends_on = [module.eks]
}
