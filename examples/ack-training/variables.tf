variable "gpu_max_nodes" {
  description = "The most machines with GPUs that a training job may have."
  type        = number
  default     = 600
}
