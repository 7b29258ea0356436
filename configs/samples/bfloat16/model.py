import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_args_0_ : torch.Tensor, L_self_modules_m_modules_0_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_m_modules_0_parameters_bias_ : torch.nn.parameter.Parameter, L_self_modules_m_modules_2_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_m_modules_2_parameters_bias_ : torch.nn.parameter.Parameter):
        l_args_0_ = L_args_0_
        l_self_modules_m_modules_0_parameters_weight_ = L_self_modules_m_modules_0_parameters_weight_
        l_self_modules_m_modules_0_parameters_bias_ = L_self_modules_m_modules_0_parameters_bias_
        l_self_modules_m_modules_2_parameters_weight_ = L_self_modules_m_modules_2_parameters_weight_
        l_self_modules_m_modules_2_parameters_bias_ = L_self_modules_m_modules_2_parameters_bias_
        to = l_args_0_.to(torch.bfloat16);  l_args_0_ = None
        input_1 = torch._C._nn.linear(to, l_self_modules_m_modules_0_parameters_weight_, l_self_modules_m_modules_0_parameters_bias_);  to = l_self_modules_m_modules_0_parameters_weight_ = l_self_modules_m_modules_0_parameters_bias_ = None
        input_2 = torch._C._nn.gelu(input_1, approximate = 'none');  input_1 = None
        input_3 = torch._C._nn.linear(input_2, l_self_modules_m_modules_2_parameters_weight_, l_self_modules_m_modules_2_parameters_bias_);  input_2 = l_self_modules_m_modules_2_parameters_weight_ = l_self_modules_m_modules_2_parameters_bias_ = None
        return (input_3,)
