"""kcheck: what breaks first when a training job on Kubernetes scales to N nodes."""

__version__ = "0.1.0"
