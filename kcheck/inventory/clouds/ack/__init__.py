"""Alibaba Cloud: ACK."""
