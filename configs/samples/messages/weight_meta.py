class Program_weight_tensor_meta_L_self_modules_w_parameters_weight_:
    name = "L_self_modules_w_parameters_weight_"
    shape = [8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.004
    std = 0.212

class Program_weight_tensor_meta_L_self_modules_w_parameters_bias_:
    name = "L_self_modules_w_parameters_bias_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.050
    std = 0.151
    data = [0.066752, -0.158884, 0.153081, 0.038102, -0.250909, 0.010154, -0.250319, -0.007359]

class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [10, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.123
    std = 0.974

class Program_weight_tensor_meta_L_args_1_:
    name = "L_args_1_"
    shape = [2, 24]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    data = [4, 9, 3, 0, 3, 9, 7, 3, 7, 3, 1, 6, 6, 9, 8, 6, 6, 8, 4, 3, 6, 9, 1, 4, 4, 1, 9, 9, 9, 0, 1, 2, 3, 0, 5, 5, 2, 9, 1, 8, 8, 3, 6, 9, 1, 7, 3, 5]
