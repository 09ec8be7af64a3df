# First, as the charts below make monitors, which are kinds of its own.
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

  depends_on = [azurerm_kubernetes_cluster.main]
}

resource "helm_release" "volcano" {
  name             = "volcano"
  namespace        = "volcano-system"
  create_namespace = true
  repository       = "https://volcano-sh.github.io/helm-charts"
  chart            = "volcano"
  version          = "1.15.1" # the version that these queues are written for

  values = [
    file("${path.module}/values/volcano.yaml"),
  ]

  depends_on = [azurerm_kubernetes_cluster.main]
}
