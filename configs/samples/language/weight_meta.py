class Program_weight_tensor_meta_L_self_modules_e_parameters_weight_:
    name = "L_self_modules_e_parameters_weight_"
    shape = [64, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.016
    std = 1.002

class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [4, 20]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    min_val = 1
    max_val = 63

class Program_weight_tensor_meta_L_self_modules_n_parameters_weight_:
    name = "L_self_modules_n_parameters_weight_"
    shape = [32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.000
    std = 0.000
    data = [1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000]

class Program_weight_tensor_meta_L_self_modules_q_parameters_weight_:
    name = "L_self_modules_q_parameters_weight_"
    shape = [96, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.002
    std = 0.103

class Program_weight_tensor_meta_L_self_modules_q_parameters_bias_:
    name = "L_self_modules_q_parameters_bias_"
    shape = [96]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.003
    std = 0.102
