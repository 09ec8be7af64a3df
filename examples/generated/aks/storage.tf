# Checkpoints: 100 nodes write 62,500 MB/s (625 each: 20 GB/s for 32 nodes of eight H100, the middle of NVIDIA's three levels for writing checkpoints).
# The size cannot be changed later, and a file system is in one zone; nodes of other zones reach it, too, with more latency.
resource "azurerm_managed_lustre_file_system" "checkpoints" {
  name                   = "${var.name}-checkpoints"
  location               = azurerm_resource_group.main.location
  resource_group_name    = azurerm_resource_group.main.name
  sku_name               = "AMLFS-Durable-Premium-500" # the most throughput for each TiB: checkpoints need speed before space
  storage_capacity_in_tb = var.lustre_capacity
  subnet_id              = azurerm_subnet.lustre.id
  zones                  = [var.lustre_zone]

  maintenance_window {
    day_of_week        = "Sunday" # when nobody starts jobs
    time_of_day_in_utc = "02:00"
  }

  lifecycle {
    prevent_destroy = true # a plan that replaces it, or destroys all, does not take the checkpoints with it
  }

  depends_on = [azurerm_subnet_nat_gateway_association.lustre]
}
