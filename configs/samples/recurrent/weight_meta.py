class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [3, 5, 12]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.015
    std = 1.039

class Program_weight_tensor_meta_L_self_modules_i_parameters_weight_:
    name = "L_self_modules_i_parameters_weight_"
    shape = [48, 12]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.008
    std = 0.169

class Program_weight_tensor_meta_L_self_modules_i_parameters_bias_:
    name = "L_self_modules_i_parameters_bias_"
    shape = [48]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.011
    std = 0.170
    data = [-0.233699, 0.126629, 0.264620, -0.219149, 0.083445, -0.122777, 0.205147, 0.198133, 0.148630, -0.076476, 0.233875, -0.068985, 0.191476, 0.136470, -0.237540, -0.182162, -0.023307, -0.236981, -0.074449, 0.156306, 0.261006, -0.022832, -0.069123, -0.217689, 0.087625, 0.041307, 0.123197, -0.244167, 0.014097, -0.127588, -0.162905, 0.143467, -0.236401, -0.172520, 0.212567, -0.188781, 0.194476, -0.105360, -0.197362, -0.018643, -0.177595, 0.075719, 0.205426, -0.218732, -0.195359, -0.050140, 0.009499, 0.249932]

class Program_weight_tensor_meta_L_self_modules_h_parameters_weight_:
    name = "L_self_modules_h_parameters_weight_"
    shape = [48, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.002
    std = 0.143

class Program_weight_tensor_meta_L_self_modules_h_parameters_bias_:
    name = "L_self_modules_h_parameters_bias_"
    shape = [48]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.005
    std = 0.152
    data = [0.058649, 0.140274, 0.033408, 0.247882, -0.028467, 0.154337, -0.221183, -0.037555, -0.161324, 0.000301, -0.222711, -0.117805, 0.197596, 0.102237, 0.189727, 0.103591, 0.152405, -0.135211, 0.090985, -0.236352, -0.182830, -0.233860, 0.148310, 0.077789, -0.155884, 0.018854, 0.218371, -0.141118, -0.171863, -0.192639, -0.033935, 0.222919, 0.049972, -0.023493, -0.039513, -0.067888, -0.107931, 0.234548, -0.096986, -0.088743, -0.085725, 0.218707, -0.152352, 0.245561, 0.002578, -0.104594, 0.155229, 0.208194]
