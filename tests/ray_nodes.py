"""A process with a Ray cluster of several nodes on the loopback interface, for the tests of the runner Ray.

    python ray_nodes.py FOLDER [NODE={"CPU": 2, "A": 1} ...]

prints the address, and takes a node away for each line that names it. It ends, with all nodes, when its input does.
"""

import json
import sys

from ray.cluster_utils import Cluster

folder, *given = sys.argv[1:]
common = {"include_dashboard": False, "object_store_memory": 100_000_000}
cluster = Cluster(True, head_node_args={**common, "num_cpus": 0, "node_name": "head", "temp_dir": folder})
nodes = {}
for each in given:
    name, _, text = each.partition("=")
    resources = json.loads(text)
    cpus = resources.pop("CPU")
    nodes[name] = cluster.add_node(**common, num_cpus=cpus, resources=resources, node_name=name, wait=False)
cluster.wait_for_nodes()
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(nodes.pop(line.strip()), allow_graceful=False)
    print("gone", flush=True)
cluster.shutdown()
