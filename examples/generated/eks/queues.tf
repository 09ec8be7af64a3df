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

  depends_on = [module.eks]
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
