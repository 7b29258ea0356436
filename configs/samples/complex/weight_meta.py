class Program_weight_tensor_meta_L_args_0_:
    name = "L_args_0_"
    shape = [6, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.066
    std = 1.017

class Program_weight_tensor_meta_L_self_parameters_f_:
    name = "L_self_parameters_f_"
    shape = [9]
    dtype = "torch.complex64"
    device = "cpu"
    mean = -0.010
    std = 1.243
    data = [complex(-0.164216, 1.065004), complex(1.520908, -0.814266), complex(-0.989617, -0.011031), complex(-1.337388, 0.484911), complex(1.034928, 0.772679), complex(-0.253353, 0.689653), complex(-0.040986, 0.346870), complex(-1.642957, 0.281020), complex(-0.913657, -0.209242)]
