"""A graph sample written by hand, for tests of all that reads and runs one."""

import json

CODE = """import torch
from torch import device

class GraphModule(torch.nn.Module):
    def forward(
        self,
        L_x_: torch.Tensor,
        L_self_parameters_w_: torch.nn.parameter.Parameter,
        L_self_buffers_running_var_: torch.Tensor,
    ):
        linear = torch._C._nn.linear(L_x_, L_self_parameters_w_)
        zeros = torch.zeros([3], device=device(type="cuda", index=0))
        add = linear + zeros
        return (add * L_self_buffers_running_var_.sqrt(),)
"""
METAS = {
    "L_x_": "shape = [2, 4]\n\tdtype = 'torch.float32'\n\tmean = 0.0\n\tstd = 1.0\n\tdata = None",
    "L_self_parameters_w_": "shape = [3, 4]\n\tdtype = 'torch.float32'\n\tmean = -0.5\n\tstd = 0.25",
    "L_self_buffers_running_var_": "shape = [3]\n\tdtype = 'torch.float32'\n\tmin_val = 0\n\tdata = [1.0, 4.0, 9.0]",
}


def write(folder, code=CODE, metas=METAS):
    """Write the sample, with other code or other tensors, to a new folder; give the folder."""
    folder.mkdir(parents=True)
    (folder / "graph_net.json").write_text(json.dumps({"framework": "torch", "source": "by hand"}))
    (folder / "model.py").write_text(code)
    classes = [f"class Program_weight_tensor_meta_{n}:\n\tname = '{n}'\n\t{text}\n" for n, text in metas.items()]
    (folder / "weight_meta.py").write_text("\n".join(classes))
    return folder
