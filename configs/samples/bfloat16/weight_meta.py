class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [4, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.093
    std = 0.932

class Program_weight_tensor_meta_L_self_modules_m_modules_0_parameters_weight_:
    name = "L_self_modules_m_modules_0_parameters_weight_"
    shape = [64, 32]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.002
    std = 0.102

class Program_weight_tensor_meta_L_self_modules_m_modules_0_parameters_bias_:
    name = "L_self_modules_m_modules_0_parameters_bias_"
    shape = [64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.016
    std = 0.105

class Program_weight_tensor_meta_L_self_modules_m_modules_2_parameters_weight_:
    name = "L_self_modules_m_modules_2_parameters_weight_"
    shape = [32, 64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -8.367921691387892e-05
    std = 0.071

class Program_weight_tensor_meta_L_self_modules_m_modules_2_parameters_bias_:
    name = "L_self_modules_m_modules_2_parameters_bias_"
    shape = [32]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.006
    std = 0.062
    data = [0.006866, 0.009644, -0.000645, -0.108398, -0.022339, 0.073730, -0.003937, -0.123535, 0.040039, 0.037598, 0.046875, 0.048096, 0.056885, 0.065430, 0.041748, -0.068848, -0.057373, 0.088867, 0.052246, -0.013428, 0.085449, -0.033203, -0.044922, -0.038818, 0.100098, -0.083008, 0.044189, -0.002991, -0.035889, -0.105957, 0.077148, 0.046387]
