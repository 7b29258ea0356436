import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_a_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_a_parameters_bias_ : torch.nn.parameter.Parameter, L_args_0_ : torch.Tensor, L_self_modules_b_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_b_parameters_bias_ : torch.nn.parameter.Parameter, L_self_modules_g_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_g_parameters_bias_ : torch.nn.parameter.Parameter):
        l_self_modules_a_parameters_weight_ = L_self_modules_a_parameters_weight_
        l_self_modules_a_parameters_bias_ = L_self_modules_a_parameters_bias_
        l_args_0_ = L_args_0_
        l_self_modules_b_parameters_weight_ = L_self_modules_b_parameters_weight_
        l_self_modules_b_parameters_bias_ = L_self_modules_b_parameters_bias_
        l_self_modules_g_parameters_weight_ = L_self_modules_g_parameters_weight_
        l_self_modules_g_parameters_bias_ = L_self_modules_g_parameters_bias_
        conv2d = torch.conv2d(l_args_0_, l_self_modules_a_parameters_weight_, l_self_modules_a_parameters_bias_, (1, 1), (2, 2), (1, 1), 8);  l_args_0_ = l_self_modules_a_parameters_weight_ = l_self_modules_a_parameters_bias_ = None
        conv2d_1 = torch.conv2d(conv2d, l_self_modules_b_parameters_weight_, l_self_modules_b_parameters_bias_, (1, 1), (0, 0), (1, 1), 1);  conv2d = l_self_modules_b_parameters_weight_ = l_self_modules_b_parameters_bias_ = None
        group_norm = torch.nn.functional.group_norm(conv2d_1, 2, l_self_modules_g_parameters_weight_, l_self_modules_g_parameters_bias_, 1e-05);  conv2d_1 = l_self_modules_g_parameters_weight_ = l_self_modules_g_parameters_bias_ = None
        hardswish = torch.nn.functional.hardswish(group_norm);  group_norm = None
        max_pool2d = torch.nn.functional.max_pool2d(hardswish, 2);  hardswish = None
        return (max_pool2d,)
