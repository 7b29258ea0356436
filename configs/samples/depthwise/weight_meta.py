class Program_weight_tensor_meta_L_self_modules_a_parameters_weight_:
    name = "L_self_modules_a_parameters_weight_"
    shape = [8, 1, 5, 5]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.003
    std = 0.115

class Program_weight_tensor_meta_L_self_modules_a_parameters_bias_:
    name = "L_self_modules_a_parameters_bias_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.018
    std = 0.111
    data = [-0.137000, 0.092289, -0.143662, 0.064213, 0.139691, 0.024110, -0.020046, 0.127183]

class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [2, 8, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.038
    std = 0.980

class Program_weight_tensor_meta_L_self_modules_b_parameters_weight_:
    name = "L_self_modules_b_parameters_weight_"
    shape = [16, 8, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.003
    std = 0.201

class Program_weight_tensor_meta_L_self_modules_b_parameters_bias_:
    name = "L_self_modules_b_parameters_bias_"
    shape = [16]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.002
    std = 0.205
    data = [0.063488, -0.103758, -0.335115, -0.040811, 0.268247, 0.272214, 0.176986, 0.051332, 0.087849, -0.272558, 0.143168, -0.351869, -0.146007, -0.092913, 0.259626, -0.010306]

class Program_weight_tensor_meta_L_self_modules_g_parameters_weight_:
    name = "L_self_modules_g_parameters_weight_"
    shape = [16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.000
    std = 0.000
    data = [1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000]

class Program_weight_tensor_meta_L_self_modules_g_parameters_bias_:
    name = "L_self_modules_g_parameters_bias_"
    shape = [16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000
    std = 0.000
    data = [0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000]
