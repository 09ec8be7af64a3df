resource "aws_eks_cluster" "train" {
  name    = "train"
  version = "1.35"
}

module "data_addons" {
  source  = "aws-ia/eks-data-addons/aws"
  version = "1.37.1"

  oidc_provider_arn           = "arn"
  enable_nvidia_device_plugin = true
  enable_karpenter_resources  = true
  karpenter_resources_helm_config = {
    gpu = {
      values = [<<-EOT
        name: gpu
        clusterName: ${aws_eks_cluster.train.name}
        ec2NodeClass:
          karpenterRole: nodes
          subnetSelectorTerms:
            tags:
              Name: private*
        nodePool:
          labels:
            - team: research
          taints:
            - {key: nvidia.com/gpu, value: "true", effect: NoSchedule}
          requirements:
            - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
          limits:
            cpu: 1920
            memory: 20Ti
      EOT
      ]
    }
    cpu = {
      values = ["name: cpu\nnodePool: {disruption: {consolidationPolicy: WhenEmptyOrUnderutilized}}\n"]
    }
  }
}
