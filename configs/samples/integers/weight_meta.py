class Program_weight_tensor_meta_L_self_modules_w_parameters_weight_:
    name = "L_self_modules_w_parameters_weight_"
    shape = [40, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.005
    std = 0.143

class Program_weight_tensor_meta_L_self_modules_w_parameters_bias_:
    name = "L_self_modules_w_parameters_bias_"
    shape = [40]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.038
    std = 0.146
    data = [0.156574, -0.043002, 0.106223, -0.241920, -0.178961, -0.078586, 0.180197, -0.058138, -0.144140, 0.201291, -0.045591, 0.083947, 0.095684, 0.233553, 0.048923, -0.025307, 0.147454, -0.028959, 0.183356, 0.243417, -0.047430, -0.139917, -0.064372, 0.222972, -0.223302, 0.066916, 0.078735, 0.128739, -0.198442, 0.157150, 0.060643, -0.124010, -0.217209, 0.026077, 0.210296, 0.219352, 0.089663, 0.223573, 0.167006, 0.058812]

class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [8, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.030
    std = 1.038
