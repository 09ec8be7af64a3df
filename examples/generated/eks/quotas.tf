# What 1,013 nodes need of the account. AWS answers requests for GPUs within days, not minutes: apply this first, alone
# (terraform apply -target=aws_servicequotas_service_quota.needed). A quota is of the account in the region:
# take out those that are higher already, and with another cluster there, ask for what both need, in one of them.
resource "aws_servicequotas_service_quota" "needed" {
  for_each = {
    "L-417A185B" = { service = "ec2", value = 134400 } # Running On-Demand P instances: 134,400 vCPUs
    "L-C4BD4855" = { service = "ec2", value = 57600 }  # All P5 Spot Instance Requests: 57,600 vCPUs
    "L-1216C47A" = { service = "ec2", value = 152 }    # Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances: 152 vCPUs
    "L-DF5E4CA3" = { service = "vpc", value = 7827 }   # quota of network interfaces of the cluster: 7,827 network interfaces
  }

  service_code = each.value.service
  quota_code   = each.key
  value        = each.value.value
}
