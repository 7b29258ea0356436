import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_a_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_a_parameters_bias_ : torch.nn.parameter.Parameter, L_args_0_ : torch.Tensor, L_self_modules_n_buffers_running_mean_ : torch.Tensor, L_self_modules_n_buffers_running_var_ : torch.Tensor, L_self_modules_n_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_n_parameters_bias_ : torch.nn.parameter.Parameter, L_self_modules_b_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_b_parameters_bias_ : torch.nn.parameter.Parameter, L_self_modules_m_buffers_running_mean_ : torch.Tensor, L_self_modules_m_buffers_running_var_ : torch.Tensor, L_self_modules_m_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_m_parameters_bias_ : torch.nn.parameter.Parameter, L_self_modules_head_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_head_parameters_bias_ : torch.nn.parameter.Parameter):
        l_self_modules_a_parameters_weight_ = L_self_modules_a_parameters_weight_
        l_self_modules_a_parameters_bias_ = L_self_modules_a_parameters_bias_
        l_args_0_ = L_args_0_
        l_self_modules_n_buffers_running_mean_ = L_self_modules_n_buffers_running_mean_
        l_self_modules_n_buffers_running_var_ = L_self_modules_n_buffers_running_var_
        l_self_modules_n_parameters_weight_ = L_self_modules_n_parameters_weight_
        l_self_modules_n_parameters_bias_ = L_self_modules_n_parameters_bias_
        l_self_modules_b_parameters_weight_ = L_self_modules_b_parameters_weight_
        l_self_modules_b_parameters_bias_ = L_self_modules_b_parameters_bias_
        l_self_modules_m_buffers_running_mean_ = L_self_modules_m_buffers_running_mean_
        l_self_modules_m_buffers_running_var_ = L_self_modules_m_buffers_running_var_
        l_self_modules_m_parameters_weight_ = L_self_modules_m_parameters_weight_
        l_self_modules_m_parameters_bias_ = L_self_modules_m_parameters_bias_
        l_self_modules_head_parameters_weight_ = L_self_modules_head_parameters_weight_
        l_self_modules_head_parameters_bias_ = L_self_modules_head_parameters_bias_
        conv2d = torch.conv2d(l_args_0_, l_self_modules_a_parameters_weight_, l_self_modules_a_parameters_bias_, (1, 1), (1, 1), (1, 1), 1);  l_args_0_ = l_self_modules_a_parameters_weight_ = l_self_modules_a_parameters_bias_ = None
        batch_norm = torch.nn.functional.batch_norm(conv2d, l_self_modules_n_buffers_running_mean_, l_self_modules_n_buffers_running_var_, l_self_modules_n_parameters_weight_, l_self_modules_n_parameters_bias_, False, 0.1, 1e-05);  conv2d = l_self_modules_n_buffers_running_mean_ = l_self_modules_n_buffers_running_var_ = l_self_modules_n_parameters_weight_ = l_self_modules_n_parameters_bias_ = None
        y = torch.nn.functional.relu(batch_norm);  batch_norm = None
        conv2d_1 = torch.conv2d(y, l_self_modules_b_parameters_weight_, l_self_modules_b_parameters_bias_, (1, 1), (1, 1), (1, 1), 1);  l_self_modules_b_parameters_weight_ = l_self_modules_b_parameters_bias_ = None
        batch_norm_1 = torch.nn.functional.batch_norm(conv2d_1, l_self_modules_m_buffers_running_mean_, l_self_modules_m_buffers_running_var_, l_self_modules_m_parameters_weight_, l_self_modules_m_parameters_bias_, False, 0.1, 1e-05);  conv2d_1 = l_self_modules_m_buffers_running_mean_ = l_self_modules_m_buffers_running_var_ = l_self_modules_m_parameters_weight_ = l_self_modules_m_parameters_bias_ = None
        add = y + batch_norm_1;  y = batch_norm_1 = None
        y_1 = torch.nn.functional.relu(add);  add = None
        mean = y_1.mean((2, 3));  y_1 = None
        linear = torch._C._nn.linear(mean, l_self_modules_head_parameters_weight_, l_self_modules_head_parameters_bias_);  mean = l_self_modules_head_parameters_weight_ = l_self_modules_head_parameters_bias_ = None
        return (linear,)
