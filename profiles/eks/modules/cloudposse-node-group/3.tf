# cloudposse/eks-node-group/aws from 3.0 on, which knows Amazon Linux 2023.
variable "ami_type" {
  type    = string
  default = "AL2_x86_64"
}
