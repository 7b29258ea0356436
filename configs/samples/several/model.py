import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_a_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_a_parameters_bias_ : torch.nn.parameter.Parameter, L_args_0_ : torch.Tensor, L_self_modules_b_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_b_parameters_bias_ : torch.nn.parameter.Parameter, L_self_modules_c_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_c_parameters_bias_ : torch.nn.parameter.Parameter):
        l_self_modules_a_parameters_weight_ = L_self_modules_a_parameters_weight_
        l_self_modules_a_parameters_bias_ = L_self_modules_a_parameters_bias_
        l_args_0_ = L_args_0_
        l_self_modules_b_parameters_weight_ = L_self_modules_b_parameters_weight_
        l_self_modules_b_parameters_bias_ = L_self_modules_b_parameters_bias_
        l_self_modules_c_parameters_weight_ = L_self_modules_c_parameters_weight_
        l_self_modules_c_parameters_bias_ = L_self_modules_c_parameters_bias_
        linear = torch._C._nn.linear(l_args_0_, l_self_modules_a_parameters_weight_, l_self_modules_a_parameters_bias_);  l_self_modules_a_parameters_weight_ = l_self_modules_a_parameters_bias_ = None
        h = torch.tanh(linear);  linear = None
        linear_1 = torch._C._nn.linear(l_args_0_, l_self_modules_b_parameters_weight_, l_self_modules_b_parameters_bias_);  l_args_0_ = l_self_modules_b_parameters_weight_ = l_self_modules_b_parameters_bias_ = None
        log_softmax = linear_1.log_softmax(-1);  linear_1 = None
        linear_2 = torch._C._nn.linear(h, l_self_modules_c_parameters_weight_, l_self_modules_c_parameters_bias_);  l_self_modules_c_parameters_weight_ = l_self_modules_c_parameters_bias_ = None
        squeeze = linear_2.squeeze(-1);  linear_2 = None
        return (h, log_softmax, squeeze)
