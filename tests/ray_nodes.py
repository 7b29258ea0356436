"""A process with a Ray cluster of several nodes on the loopback interface, for the tests of the runner Ray.

    python ray_nodes.py FOLDER [NODE={"CPU": 2, "A": 1} ...]

prints the address, and for each line, which is the id of a process, takes the node away that it runs on. It ends, with
all nodes, when its input does.
"""

import json
import sys

import psutil
from ray.cluster_utils import Cluster

folder, *given = sys.argv[1:]
common = {"include_dashboard": False, "object_store_memory": 100_000_000}
cluster = Cluster(True, head_node_args={**common, "num_cpus": 0, "node_name": "head", "temp_dir": folder})
nodes = {}
for each in given:
    name, _, text = each.partition("=")
    resources = json.loads(text)
    cpus = resources.pop("CPU")
    node = cluster.add_node(**common, num_cpus=cpus, resources=resources, node_name=name, wait=False)
    nodes[node.all_processes["raylet"][0].process.pid] = node
cluster.wait_for_nodes()
print(cluster.address, flush=True)
for line in sys.stdin:
    raylet = next(each.pid for each in psutil.Process(int(line)).parents() if each.pid in nodes)
    cluster.remove_node(nodes[raylet], allow_graceful=False)
    print("gone", flush=True)
cluster.shutdown()
