class Program_weight_tensor_meta_L_self_modules_a_parameters_weight_:
    name = "L_self_modules_a_parameters_weight_"
    shape = [8, 3, 3, 3]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.007
    std = 0.110

class Program_weight_tensor_meta_L_self_modules_a_parameters_bias_:
    name = "L_self_modules_a_parameters_bias_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.005
    std = 0.092
    data = [0.069806, -0.064271, -0.053780, 0.056856, 0.158201, 0.052326, -0.091057, -0.090466]

class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [2, 3, 12, 12]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.005
    std = 0.996

class Program_weight_tensor_meta_L_self_modules_n_buffers_running_mean_:
    name = "L_self_modules_n_buffers_running_mean_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000
    std = 0.000
    data = [0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000]

class Program_weight_tensor_meta_L_self_modules_n_buffers_running_var_:
    name = "L_self_modules_n_buffers_running_var_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.000
    std = 0.000
    data = [1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000]
    min_val = 0

class Program_weight_tensor_meta_L_self_modules_n_parameters_weight_:
    name = "L_self_modules_n_parameters_weight_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.000
    std = 0.000
    data = [1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000]

class Program_weight_tensor_meta_L_self_modules_n_parameters_bias_:
    name = "L_self_modules_n_parameters_bias_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000
    std = 0.000
    data = [0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000]

class Program_weight_tensor_meta_L_self_modules_b_parameters_weight_:
    name = "L_self_modules_b_parameters_weight_"
    shape = [8, 8, 3, 3]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.002
    std = 0.069

class Program_weight_tensor_meta_L_self_modules_b_parameters_bias_:
    name = "L_self_modules_b_parameters_bias_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.006
    std = 0.062
    data = [0.005423, 0.023063, 0.004282, 0.081596, -0.049756, -0.062646, 0.051354, -0.102568]

class Program_weight_tensor_meta_L_self_modules_m_buffers_running_mean_:
    name = "L_self_modules_m_buffers_running_mean_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000
    std = 0.000
    data = [0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000]

class Program_weight_tensor_meta_L_self_modules_m_buffers_running_var_:
    name = "L_self_modules_m_buffers_running_var_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.000
    std = 0.000
    data = [1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000]
    min_val = 0

class Program_weight_tensor_meta_L_self_modules_m_parameters_weight_:
    name = "L_self_modules_m_parameters_weight_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.000
    std = 0.000
    data = [1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000, 1.000000]

class Program_weight_tensor_meta_L_self_modules_m_parameters_bias_:
    name = "L_self_modules_m_parameters_bias_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000
    std = 0.000
    data = [0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000, 0.000000]

class Program_weight_tensor_meta_L_self_modules_head_parameters_weight_:
    name = "L_self_modules_head_parameters_weight_"
    shape = [10, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.034
    std = 0.223

class Program_weight_tensor_meta_L_self_modules_head_parameters_bias_:
    name = "L_self_modules_head_parameters_bias_"
    shape = [10]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.057
    std = 0.209
    data = [0.235053, -0.297788, 0.255907, -0.333806, 0.078984, -0.231590, -0.140430, 0.062603, -0.139010, -0.055940]
