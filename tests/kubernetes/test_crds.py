"""Test the schemas of other projects' kinds: each wrong object is refused for its own reason, correct ones are not."""

from __future__ import annotations

import pytest
from derive import crds

from tests.kubernetes.schemas_of_kinds import SCHEMAS, problems
from tests.places import ROOT

POD = "{spec: {restartPolicy: Never, containers: [{name: main, image: 'quay.io/a/b:1', resources: {limits: {nvidia.com/gpu: 8}}}]}}"
KUEUE = "apiVersion: kueue.x-k8s.io/v1beta2\n"
KARPENTER = "apiVersion: karpenter.sh/v1\n"
GOOD = {
    "Deployment": f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: one}}
spec:
  selector: {{matchLabels: {{app: one}}}}
  template: {POD.replace("restartPolicy: Never, ", "")}
""",
    "ClusterQueue": KUEUE
    + """\
kind: ClusterQueue
metadata: {name: one}
spec:
  namespaceSelector: {matchLabels: {team: a}}
  queueingStrategy: BestEffortFIFO
  cohortName: all
  preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any, borrowWithinCohort: {policy: Never}}
  admissionChecksStrategy: {admissionChecks: [{name: capacity, onFlavors: [h100]}]}
  resourceGroups:
    - coveredResources: [cpu, nvidia.com/gpu]
      flavors:
        - name: h100
          resources: [{name: cpu, nominalQuota: 1.5k}, {name: nvidia.com/gpu, nominalQuota: 64, borrowingLimit: 8}]
""",
    "LocalQueue": KUEUE
    + "kind: LocalQueue\nmetadata: {name: one, namespace: a}\nspec: {clusterQueue: one, stopPolicy: None}\n",
    "ResourceFlavor": KUEUE
    + """\
kind: ResourceFlavor
metadata: {name: one}
spec:
  nodeLabels: {gpu: h100}
  nodeTaints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  topologyName: racks
""",
    "WorkloadPriorityClass": KUEUE
    + "kind: WorkloadPriorityClass\nmetadata: {name: one}\nvalue: 1000\ndescription: first\n",
    "AdmissionCheck": KUEUE
    + """\
kind: AdmissionCheck
metadata: {name: one}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: one}
""",
    "ProvisioningRequestConfig": KUEUE
    + """\
kind: ProvisioningRequestConfig
metadata: {name: one}
spec:
  provisioningClassName: queued-provisioning.gke.io
  managedResources: [nvidia.com/gpu]
  parameters: {maxRunDurationSeconds: "3600"}
  retryStrategy: {backoffLimitCount: 3}
  podSetUpdates: {nodeSelector: [{key: pool, valueFromProvisioningClassDetail: pool}]}
""",
    "Topology": KUEUE
    + "kind: Topology\nmetadata: {name: one}\nspec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}\n",
    "Queue": """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: one}
spec: {weight: 1, reclaimable: true, capability: {cpu: 100, nvidia.com/gpu: "64"}, guarantee: {resource: {cpu: 8}}}
""",
    "VolcanoJob": f"""\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: one}}
spec:
  schedulerName: volcano
  queue: one
  minAvailable: 2
  plugins: {{svc: [], ssh: []}}
  networkTopology: {{mode: hard, highestTierAllowed: 1}}
  policies: [{{event: PodEvicted, action: RestartJob}}]
  tasks: [{{name: worker, replicas: 2, template: {POD}}}]
""",
    "PodGroup": """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: one}
spec: {minMember: 4, queue: one, minResources: {nvidia.com/gpu: 32}, priorityClassName: high}
""",
    "JobSet": f"""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: one, labels: {{kueue.x-k8s.io/queue-name: one}}}}
spec:
  failurePolicy: {{maxRestarts: 3, rules: [{{name: drained, action: RestartJobSetAndIgnoreMaxRestarts}}]}}
  network: {{enableDNSHostnames: true}}
  successPolicy: {{operator: All, targetReplicatedJobs: [workers]}}
  replicatedJobs:
    - name: workers
      replicas: 1
      template: {{spec: {{parallelism: 4, completions: 4, completionMode: Indexed, template: {POD}}}}}
""",
    "MPIJob": f"""\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: one}}
spec:
  slotsPerWorker: 8
  mpiImplementation: OpenMPI
  runPolicy: {{cleanPodPolicy: Running, schedulingPolicy: {{minAvailable: 5}}}}
  mpiReplicaSpecs:
    Launcher: {{replicas: 1, template: {POD}}}
    Worker: {{replicas: 4, template: {POD}}}
""",
    "TrainJob": """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: one}
spec:
  runtimeRef: {name: torch, kind: ClusterTrainingRuntime, apiGroup: trainer.kubeflow.org}
  trainer:
    numNodes: 4
    numProcPerNode: 8
    image: quay.io/a/b:1
    env: [{name: NCCL_DEBUG, value: INFO}]
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
""",
    "TrainingRuntime": f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {{name: torch, namespace: team}}
spec:
  podGroupPolicy: {{volcano: {{}}}}
  template: {{metadata: {{annotations: {{scheduling.volcano.sh/queue-name: team}}}}, spec: {{ttlSecondsAfterFinished: 60,
    replicatedJobs: [{{name: node, template: {{spec: {{template: {POD}}}}}}}]}}}}
""",
    "ClusterTrainingRuntime": f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: torch}}
spec:
  mlPolicy: {{numNodes: 4, torch: {{}}}}
  podGroupPolicy: {{coscheduling: {{scheduleTimeoutSeconds: 60}}}}
  template: {{spec: {{replicatedJobs: [{{name: node, template: {{spec: {{template: {POD}}}}}}}]}}}}
""",
    "NodePool": KARPENTER
    + """\
kind: NodePool
metadata: {name: one}
spec:
  weight: 10
  limits: {cpu: 1000, nvidia.com/gpu: "64"}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m, budgets: [{nodes: 10%, reasons: [Drifted]}]}
  template:
    metadata: {labels: {pool: gpu}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: one}
      expireAfter: Never
      terminationGracePeriod: 1h30m
      taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}]
""",
    "EC2NodeClass": """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: one}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20260801}]
  subnetSelectorTerms: [{tags: {team: a}}]
  securityGroupSelectorTerms: [{id: sg-1}]
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 500Gi, volumeType: gp3, iops: 6000, encrypted: true}}]
  metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}
""",
    "AKSNodeClass": """\
apiVersion: karpenter.azure.com/v1beta1
kind: AKSNodeClass
metadata: {name: one}
spec: {imageFamily: AzureLinux, osDiskSizeGB: 512, maxPods: 110, tags: {team: a}}
""",
    "PodMonitor": """\
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: one}
spec:
  namespaceSelector: {matchNames: [kube-system]}
  selector: {matchLabels: {app: one}}
  podMetricsEndpoints:
    - {port: metrics, honorLabels: true, relabelings: [{sourceLabels: [a], targetLabel: b}]}
""",
    "ServiceMonitor": """\
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: one}
spec:
  namespaceSelector: {matchNames: [kube-system]}
  selector: {matchLabels: {app: one}}
  endpoints:
    - {port: http, metricRelabelings: [{sourceLabels: [a], regex: b, action: keep}]}
""",
    "PrometheusRule": """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: one}
spec:
  groups:
    - name: nodes
      interval: 1m30s
      rules:
        - {alert: NodeLost, expr: up == 0, for: 5m, labels: {severity: page}, annotations: {summary: lost}}
        - {record: one, expr: 1}
""",
    "Network": """\
apiVersion: networking.gke.io/v1
kind: Network
metadata: {name: one}
spec: {type: Device, parametersRef: {group: networking.gke.io, kind: GKENetworkParamSet, name: one}}
""",
    "GKENetworkParamSet": """\
apiVersion: networking.gke.io/v1
kind: GKENetworkParamSet
metadata: {name: one}
spec: {vpc: one, vpcSubnet: one, deviceMode: NetDevice}
""",
    "NicClusterPolicy": """\
apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata: {name: nic-cluster-policy}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  ofedDriver: {repository: nvcr.io/nvidia/mellanox, image: doca-driver, version: "1"}
  sriovDevicePlugin: {repository: nvcr.io/nvidia/mellanox, image: sriov-network-device-plugin, version: "1", config: "{}"}
""",
    "NodeFeatureRule": """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: one}
spec:
  rules:
    - name: one
      labels: {feature.node.kubernetes.io/pci-15b3.present: "true"}
      matchFeatures:
        - {feature: pci.device, matchExpressions: {device: {op: In, value: [101c]}}}
""",
    "SriovNetworkNodePolicy": """\
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: one}
spec: {nodeSelector: {a: b}, nicSelector: {pfNames: [ib0]}, linkType: ib, numVfs: 1, resourceName: ib}
""",
    "SriovNetworkPoolConfig": """\
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkPoolConfig
metadata: {name: one}
spec: {nodeSelector: {matchLabels: {a: b}}, maxUnavailable: 10%}
""",
    "SriovIBNetwork": """\
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovIBNetwork
metadata: {name: one}
spec: {networkNamespace: default, resourceName: ib, linkState: enable}
""",
    "Cluster": """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: one}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}, services: {cidrBlocks: [10.1.0.0/16]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: one}
""",
    "MachineDeployment": """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: one}
spec:
  clusterName: one
  replicas: 3
  selector: {matchLabels: {a: b}}
  template:
    spec:
      clusterName: one
      version: v1.35.0
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: one}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: one}
""",
    "MachineHealthCheck": """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: one}
spec:
  clusterName: one
  selector: {matchLabels: {a: b}}
  checks: {unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]}
  remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 10%}}
""",
    "KubeadmConfigTemplate": """\
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: one}
spec:
  template:
    spec:
      joinConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: node-labels, value: a=b}]}}
      files: [{path: /etc/one, content: one}]
""",
    "KubeadmControlPlane": """\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: one}
spec:
  version: v1.35.0
  replicas: 3
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: one}
  kubeadmConfigSpec:
    clusterConfiguration: {etcd: {local: {dataDir: /mnt, extraArgs: [{name: a, value: b}]}}}
""",
    "Metal3Cluster": """\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata: {name: one}
spec: {controlPlaneEndpoint: {host: api.example.com, port: 6443}, cloudProviderEnabled: false}
""",
    "Metal3MachineTemplate": """\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: one}
spec:
  template:
    spec:
      hostSelector: {matchLabels: {a: b}}
      image: {url: "http://a/b", checksum: "http://a/b.sha256", checksumType: sha256, diskFormat: qcow2}
""",
    "Metal3DataTemplate": """\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: one}
spec: {clusterName: one, metaData: {fromLabels: [{key: zone, object: baremetalhost, label: a}]}}
""",
    "Metal3RemediationTemplate": """\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3RemediationTemplate
metadata: {name: one}
spec: {template: {spec: {strategy: {type: Reboot, retryLimit: 1, timeoutSeconds: 600}}}}
""",
}
BAD = [
    ("Deployment", "selector:", "selectr:", "'selector' is a required property"),
    ("Deployment", "{name: main,", "{nme: main,", "spec.template.spec.containers.0: 'name' is a required"),
    ("Deployment", "limits:", "limit:", "spec.template.spec.containers.0.resources: Additional"),
    ("ClusterQueue", "nominalQuota: 64", "nominalQuotas: 64", "'nominalQuota' is a required property"),
    ("ClusterQueue", "nominalQuota: 64", "nominalQuota: 64, quota: 1", "'quota' was unexpected"),
    ("ClusterQueue", "nominalQuota: 64", "nominalQuota: true", "True is not of type 'integer', 'string'"),
    ("ClusterQueue", "cohortName: all", "cohort: all", "'cohort' was unexpected"),
    ("ClusterQueue", "BestEffortFIFO", "FIFO", "spec.queueingStrategy: 'FIFO' is not one of"),
    ("ClusterQueue", "[cpu, nvidia.com/gpu]", "[]", "spec.resourceGroups.0.coveredResources: [] "),
    ("ClusterQueue", "matchLabels:", "matchLabel:", "spec.namespaceSelector: Additional"),
    ("ClusterQueue", "v1beta2", "v1beta1", "no schema of kueue.x-k8s.io/v1beta1 ClusterQueue"),
    ("LocalQueue", "clusterQueue: one", "clusterqueue: one", "'clusterqueue' was unexpected"),
    ("LocalQueue", "clusterQueue: one", "clusterQueue: 1", "spec.clusterQueue: 1 is not of type 'string'"),
    ("LocalQueue", "name: one, ", "", "LocalQueue: metadata: no name"),
    ("LocalQueue", "metadata: {name: one, namespace: a}\n", "", "'metadata' is a required property"),
    ("ResourceFlavor", "nodeLabels:", "nodeLables:", "'nodeLables' was unexpected"),
    ("ResourceFlavor", "gpu: h100", "gpu: 100", "spec.nodeLabels.gpu: 100 is not of type 'string'"),
    (
        "ResourceFlavor",
        ", effect: NoSchedule}]\n  tol",
        "}]\n  tol",
        "spec.nodeTaints.0: 'effect' is a required property",
    ),
    ("ResourceFlavor", "operator: Exists", "operators: Exists", "spec.tolerations.0: Additional"),
    ("WorkloadPriorityClass", "value: 1000\n", "", "'value' is a required property"),
    ("WorkloadPriorityClass", "value: 1000", "value: high", "value: 'high' is not of type 'integer'"),
    ("WorkloadPriorityClass", "value: 1000", "value: 1000\nglobalDefault: true", "'globalDefault' was unexpected"),
    ("AdmissionCheck", "controllerName:", "controller:", "'controllerName' is a required property"),
    ("AdmissionCheck", "apiGroup:", "apiVersion:", "'apiVersion' was unexpected"),
    (
        "AdmissionCheck",
        "controllerName: kueue.x-k8s.io/provisioning-request",
        "controllerName: [a]",
        "['a'] is not of type",
    ),
    ("ProvisioningRequestConfig", '"3600"', "3600", "spec.parameters.maxRunDurationSeconds: 3600 is not of type"),
    ("ProvisioningRequestConfig", "provisioningClassName:", "className:", "'provisioningClassName' is a required"),
    ("ProvisioningRequestConfig", "backoffLimitCount:", "limit:", "spec.retryStrategy: Additional"),
    ("Topology", "{nodeLabel: rack}", "{label: rack}", "spec.levels.0: 'nodeLabel' is a required property"),
    ("Topology", "{nodeLabel: rack}", "rack", "spec.levels.0: 'rack' is not of type 'object'"),
    ("Topology", "{nodeLabel: rack}", "{nodeLabel: rack, order: 1}", "'order' was unexpected"),
    ("Queue", "reclaimable: true", "reclaimable: 'yes'", "spec.reclaimable: 'yes' is not of type 'boolean'"),
    ("Queue", "weight: 1", "weight: 0", "spec.weight: 0 is less than"),
    ("Queue", "capability:", "capacity:", "'capacity' was unexpected"),
    ("VolcanoJob", "v1alpha1", "v1", "apiVersion: 'batch.volcano.sh/v1' is not one of ['batch/v1']"),
    ("VolcanoJob", "minAvailable: 2", "minMember: 2", "'minMember' was unexpected"),
    ("VolcanoJob", "event: PodEvicted", "event: Evicted", "spec.policies.0.event: 'Evicted' is not one of"),
    ("VolcanoJob", "replicas: 2", "replicas: two", "spec.tasks.0.replicas: 'two' is not of type 'integer'"),
    ("VolcanoJob", "name: main, ", "", "spec.tasks.0.template.spec.containers.0: 'name' is a required property"),
    ("VolcanoJob", "svc: []", "svc: true", "spec.plugins.svc: True is not of type 'array'"),
    ("PodGroup", "minMember: 4", "minAvailable: 4", "'minAvailable' was unexpected"),
    ("PodGroup", "minMember: 4", "minMember: '4'", "spec.minMember: '4' is not of type 'integer'"),
    ("PodGroup", "metadata: {name: one}\n", "", "'metadata' is a required property"),
    ("JobSet", "name: workers\n", "names: workers\n", "spec.replicatedJobs.0: 'name' is a required property"),
    ("JobSet", "template: {spec: {parallelism", "job: {spec: {parallelism", "'template' is a required property"),
    ("JobSet", "parallelism: 4", "parallelism: four", "spec.replicatedJobs.0.template.spec.parallelism: 'four'"),
    ("JobSet", "completionMode:", "completionmode:", "spec.replicatedJobs.0.template.spec: Additional"),
    ("JobSet", "restartPolicy:", "restart:", "spec.replicatedJobs.0.template.spec.template.spec: Additional"),
    ("JobSet", "maxRestarts:", "maxRestart:", "spec.failurePolicy: Additional"),
    ("JobSet", "operator: All, ", "", "spec.successPolicy: 'operator' is a required property"),
    ("MPIJob", "slotsPerWorker: 8", "slotsPerWorkers: 8", "'slotsPerWorkers' was unexpected"),
    ("MPIJob", "slotsPerWorker: 8", "slotsPerWorker: '8'", "spec.slotsPerWorker: '8' is not of type 'integer'"),
    ("MPIJob", "mpiReplicaSpecs:", "replicaSpecs:", "'mpiReplicaSpecs' is a required property"),
    ("MPIJob", "Worker: {replicas: 4", "Worker: {replica: 4", "spec.mpiReplicaSpecs.Worker: Additional"),
    ("TrainJob", "runtimeRef: {name: torch, ", "runtimeRef: {", "spec.runtimeRef: 'name' is a required property"),
    ("TrainJob", "numNodes: 4", "nodes: 4", "spec.trainer: Additional"),
    ("TrainJob", "numNodes: 4", "numNodes: four", "spec.trainer.numNodes: 'four' is not of type 'integer'"),
    ("TrainJob", "value: INFO", "val: INFO", "spec.trainer.env.0: Additional"),
    ("TrainingRuntime", "volcano: {}", "volcano: 1", "spec.podGroupPolicy.volcano: 1 is not of type 'object'"),
    ("ClusterTrainingRuntime", "mlPolicy:", "mlpolicy:", "'mlpolicy' was unexpected"),
    ("ClusterTrainingRuntime", "numNodes: 4", "numNodes: []", "spec.mlPolicy.numNodes: [] is not of type 'integer'"),
    ("ClusterTrainingRuntime", "{name: node, ", "{", "spec.template.spec.replicatedJobs.0: 'name' is a required"),
    ("NodePool", "consolidateAfter: 5m, ", "", "spec.disruption: 'consolidateAfter' is a required property"),
    (
        "NodePool",
        "consolidateAfter: 5m",
        "consolidateAfter: 5 minutes",
        "spec.disruption.consolidateAfter: '5 minutes' does",
    ),
    ("NodePool", "operator: In", "operator: Equals", "requirements.0.operator: 'Equals' is not one of"),
    ("NodePool", "group: karpenter.k8s.aws", "apiVersion: karpenter.k8s.aws/v1", "'apiVersion' was unexpected"),
    ("NodePool", "nodes: 10%", "nodes: 1", "spec.disruption.budgets.0.nodes: 1 is not of type 'string'"),
    ("EC2NodeClass", "amiSelectorTerms:", "amiSelectorTerm:", "'amiSelectorTerms' is a required property"),
    ("EC2NodeClass", "volumeSize: 500Gi", "volumeSize: 500", "ebs.volumeSize: 500 is not of type 'string'"),
    ("EC2NodeClass", "httpTokens: required", "httpToken: required", "spec.metadataOptions: Additional"),
    ("AKSNodeClass", "osDiskSizeGB: 512", "osDiskSizeGB: 4096", "spec.osDiskSizeGB: 4096 is greater than"),
    ("AKSNodeClass", "maxPods:", "maxpods:", "'maxpods' was unexpected"),
    ("AKSNodeClass", "team: a", "team: 1", "spec.tags.team: 1 is not of type 'string'"),
    ("AKSNodeClass", "metadata: {name: one}\n", "", "'metadata' is a required property"),
    ("PodMonitor", "  selector: {matchLabels: {app: one}}\n", "", "'selector' is a required property"),
    ("PodMonitor", "targetLabel: b", "target: b", "Additional"),
    ("ServiceMonitor", "sourceLabels:", "sources:", "Additional"),
    ("ServiceMonitor", "  endpoints:\n", "  podMetricsEndpoints:\n", "'endpoints' is a required property"),
    ("PrometheusRule", "expr: up == 0, ", "", "spec.groups.0.rules.0: 'expr' is a required property"),
    ("PrometheusRule", "for: 5m", "for: 5 minutes", "spec.groups.0.rules.0.for: '5 minutes' does not match"),
    ("PrometheusRule", "severity: page", "severity: 1", "rules.0.labels.severity: 1 is not of type 'string'"),
    ("PrometheusRule", "alert: NodeLost", "alerts: NodeLost", "spec.groups.0.rules.0: Additional"),
    ("Network", "type: Device, ", "", "spec: 'type' is a required property"),
    ("Network", "kind: GKENetworkParamSet, ", "", "spec.parametersRef: 'kind' is a required property"),
    ("GKENetworkParamSet", "NetDevice", "Netdevice", "spec.deviceMode: 'Netdevice' is not one of"),
    ("GKENetworkParamSet", "vpcSubnet:", "subnet:", "'subnet' was unexpected"),
    ("NicClusterPolicy", "image: doca-driver, ", "", "spec.ofedDriver: 'image' is a required property"),
    ("NicClusterPolicy", "operator: Exists", "operators: Exists", "spec.tolerations.0: Additional"),
    ("NodeFeatureRule", "op: In, ", "", "device: 'op' is a required property"),
    ("NicClusterPolicy", "sriovDevicePlugin: ", "rdmaDevicePlugin: ", "spec: Additional"),
    ("SriovNetworkNodePolicy", "linkType: ib", "linkType: infiniband", "'infiniband' is not one of"),
    ("SriovNetworkPoolConfig", "{matchLabels: {a: b}}", "{a: b}", "spec.nodeSelector: Additional"),
    ("SriovIBNetwork", "resourceName: ib, ", "", "'resourceName' is a required property"),
    ("Cluster", "apiGroup: ", "apiVersion: ", "spec.infrastructureRef: "),
    ("MachineDeployment", "version: v1.35.0", "kubernetesVersion: v1.35.0", "spec.template.spec: Additional"),
    ("MachineHealthCheck", "timeoutSeconds: 300", "timeout: 5m", "unhealthyNodeConditions.0: "),
    ("KubeadmConfigTemplate", "[{name: node-labels, value: a=b}]", "{node-labels: a=b}", "is not of type 'array'"),
    ("KubeadmControlPlane", "version: v1.35.0", "", "spec: 'version' is a required property"),
    ("Metal3Cluster", "port: 6443", "port: 66443", "66443 is greater than the maximum"),
    ("Metal3MachineTemplate", "diskFormat", "format", "spec.template.spec.image: Additional"),
    ("Metal3DataTemplate", "object: baremetalhost", "object: host", "'host' is not one of"),
    ("Metal3RemediationTemplate", "timeoutSeconds: 600", "timeout: 10m", "strategy: Additional"),
    ("NodeFeatureRule", "value: [101c]", "value: 101c", "value: '101c' is not of type 'array'"),
]


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
def test_valid_objects_have_no_problems(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(("name", "old", "new", "words"), BAD)
def test_invalid_objects_are_refused_for_the_right_reason(name: str, old: str, new: str, words: str) -> None:
    assert old in GOOD[name]
    found = problems(GOOD[name].replace(old, new, 1))
    assert any(words in one for one in found), found


def test_every_kind_with_a_schema_has_good_and_bad_examples() -> None:
    headed = {name: tuple(line.split(": ")[1] for line in text.splitlines()[:2]) for name, text in GOOD.items()}
    kinds = {tuple(key.split()) for path in SCHEMAS.glob("*.yaml") for key in crds.read(path)["kinds"]}
    assert kinds == {headed[name] for name in GOOD if name != "Deployment"}
    assert {name for name, *_ in BAD} == set(GOOD)


def test_every_document_is_read_and_an_unknown_kind_is_a_problem() -> None:
    text = "\n---\n".join(
        [GOOD["Queue"], "", "[1]", "kind: Pod", "apiVersion: a.b/v1\nkind: Thing\nmetadata: {name: one}"]
    )
    assert problems(text) == [
        "document 3: not an object",
        "document 4: no apiVersion or no kind",
        "Thing one: no schema of a.b/v1 Thing",
    ]


def test_every_source_is_named_in_the_readme() -> None:
    readme = (SCHEMAS.parent / "README.md").read_text()
    for path in SCHEMAS.glob("*.yaml"):
        for source in crds.read(path)["sources"]:
            repository, tag, file = source.split()
            assert any(
                f"`{path.name}`" in line and repository in line and tag in line for line in readme.splitlines()
            ), source
            assert file.rsplit("/", 1)[0] in readme


@pytest.mark.medium
def test_the_examples_have_no_problems_but_kinds_without_a_schema_here() -> None:
    files = sorted((ROOT / "examples").glob("*/manifests/*.yaml"))
    assert len(files) >= 7
    found = {path.relative_to(ROOT / "examples").as_posix(): problems(path.read_text()) for path in files}
    assert {name: words for name, words in found.items() if words} == {
        "ack-training/manifests/train.yaml": ["PyTorchJob train: no schema of kubeflow.org/v1 PyTorchJob"],
        "usage/manifests/language.yaml": [
            "PyTorchJob pretrain: no schema of kubeflow.org/v1 PyTorchJob",
            "RayCluster tuning: no schema of ray.io/v1 RayCluster",
        ],
        "usage/manifests/search.yaml": ["Workflow report-: no schema of argoproj.io/v1alpha1 Workflow"],
    }
