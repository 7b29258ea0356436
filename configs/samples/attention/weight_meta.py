class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [2, 6, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.019
    std = 0.944

class Program_weight_tensor_meta_L_self_modules_n_parameters_weight_:
    name = "L_self_modules_n_parameters_weight_"
    shape = [32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.000
    std = 0.000
    data = [1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000]

class Program_weight_tensor_meta_L_self_modules_n_parameters_bias_:
    name = "L_self_modules_n_parameters_bias_"
    shape = [32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000
    std = 0.000
    data = [0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000]

class Program_weight_tensor_meta_L_self_modules_qkv_parameters_weight_:
    name = "L_self_modules_qkv_parameters_weight_"
    shape = [96, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.002
    std = 0.102

class Program_weight_tensor_meta_L_self_modules_qkv_parameters_bias_:
    name = "L_self_modules_qkv_parameters_bias_"
    shape = [96]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.016
    std = 0.111

class Program_weight_tensor_meta_L_args_1_:
    name = "L_args_1_"
    shape = [6, 6]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.033
    std = 1.128
    data = [1.167917, -1.148563, -0.089611, -1.206359, 1.678171, 0.473379, -2.255001, 1.724894, 1.226992, -0.556894, -1.611911, -1.910668, -0.197658, 0.885654, -1.068200, -0.165821, 0.153030, -0.634332, 1.169293, -1.667218, -0.032982, 0.547670, -1.168638, 1.393568, -0.425768, 2.108669, 1.168837, -0.343827, -0.590995, -0.009782, 1.216055, -1.177358, 0.620923, 0.411934, 0.905722, 0.608354]

class Program_weight_tensor_meta_L_self_modules_o_parameters_weight_:
    name = "L_self_modules_o_parameters_weight_"
    shape = [32, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.002
    std = 0.101

class Program_weight_tensor_meta_L_self_modules_o_parameters_bias_:
    name = "L_self_modules_o_parameters_bias_"
    shape = [32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.022
    std = 0.112
    data = [0.146317, -0.017950, 0.034712, -0.173348, 0.160411, -0.001988, -0.088646, -0.126155, 0.032159, -0.166903, 0.131060, 0.096882, 0.153222, 0.157405, -0.104151, -0.047869, 0.108287, 0.113121, 0.173030, -0.073049, 0.025413, -0.006002, 0.101808, -0.086608, 0.160038, -0.052334, 0.087809, 0.133384, -0.176558, 0.032936, -0.121214, 0.085106]
