# cloudposse/eks-node-group/aws before 3.0: https://github.com/cloudposse/terraform-aws-eks-node-group/pull/186
variable "ami_type" {
  type    = string
  default = "AL2_x86_64"

  validation {
    condition     = !startswith(var.ami_type, "AL2023")
    error_message = "The ami_type must be one that existed before Amazon Linux 2023."
  }
}
