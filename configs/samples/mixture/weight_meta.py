class Program_weight_tensor_meta_L_self_modules_gate_parameters_weight_:
    name = "L_self_modules_gate_parameters_weight_"
    shape = [4, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.029
    std = 0.145

class Program_weight_tensor_meta_L_self_modules_gate_parameters_bias_:
    name = "L_self_modules_gate_parameters_bias_"
    shape = [4]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.068
    std = 0.103
    data = [0.023905, 0.016278, -0.142099, -0.170583]

class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [8, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.154
    std = 1.014

class Program_weight_tensor_meta_L_self_parameters_up_:
    name = "L_self_parameters_up_"
    shape = [4, 16, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.003
    std = 0.195
