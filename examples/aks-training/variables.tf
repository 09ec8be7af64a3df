variable "location" {
  description = "Azure region"
  type        = string
  default     = "westeurope"
}

variable "gpu_max_nodes" {
  description = "Most GPU nodes that one training run may take"
  type        = number
  default     = 16
}

variable "gpu_vm_size" {
  type    = string
  default = "Standard_ND96isr_H100_v5"
}

variable "scale_down_unneeded" {
  description = "How long a node is idle before it is deleted"
  type        = string
  default     = "10m"
}
