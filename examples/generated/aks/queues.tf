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
