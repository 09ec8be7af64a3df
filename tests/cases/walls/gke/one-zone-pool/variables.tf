variable "project" {
  type = string
}

variable "region" {
  type    = string
  default = "us-east5"
}

variable "range" {
  type = string
}
