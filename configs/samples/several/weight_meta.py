class Program_weight_tensor_meta_L_self_modules_a_parameters_weight_:
    name = "L_self_modules_a_parameters_weight_"
    shape = [8, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.019
    std = 0.140

class Program_weight_tensor_meta_L_self_modules_a_parameters_bias_:
    name = "L_self_modules_a_parameters_bias_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.011
    std = 0.111
    data = [-0.064519, 0.191356, 0.047433, -0.040825, -0.134305, 0.134918, -0.077610, 0.030572]

class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [8, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.048
    std = 0.946

class Program_weight_tensor_meta_L_self_modules_b_parameters_weight_:
    name = "L_self_modules_b_parameters_weight_"
    shape = [4, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.009
    std = 0.147

class Program_weight_tensor_meta_L_self_modules_b_parameters_bias_:
    name = "L_self_modules_b_parameters_bias_"
    shape = [4]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.007
    std = 0.083
    data = [0.099800, -0.027828, -0.100125, 0.000327]

class Program_weight_tensor_meta_L_self_modules_c_parameters_weight_:
    name = "L_self_modules_c_parameters_weight_"
    shape = [1, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.020
    std = 0.246
    data = [0.318827, -0.200427, -0.294988, -0.119855, 0.276568, 0.253396, -0.181163, 0.106963]

class Program_weight_tensor_meta_L_self_modules_c_parameters_bias_:
    name = "L_self_modules_c_parameters_bias_"
    shape = [1]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.019
    std = 0.000
    data = [-0.018864]
