import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_args_0_ : torch.Tensor, L_self_modules_n_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_n_parameters_bias_ : torch.nn.parameter.Parameter, L_self_modules_qkv_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_qkv_parameters_bias_ : torch.nn.parameter.Parameter, L_args_1_ : torch.Tensor, L_self_modules_o_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_o_parameters_bias_ : torch.nn.parameter.Parameter):
        l_args_0_ = L_args_0_
        l_self_modules_n_parameters_weight_ = L_self_modules_n_parameters_weight_
        l_self_modules_n_parameters_bias_ = L_self_modules_n_parameters_bias_
        l_self_modules_qkv_parameters_weight_ = L_self_modules_qkv_parameters_weight_
        l_self_modules_qkv_parameters_bias_ = L_self_modules_qkv_parameters_bias_
        l_args_1_ = L_args_1_
        l_self_modules_o_parameters_weight_ = L_self_modules_o_parameters_weight_
        l_self_modules_o_parameters_bias_ = L_self_modules_o_parameters_bias_
        layer_norm = torch.nn.functional.layer_norm(l_args_0_, (32,), l_self_modules_n_parameters_weight_, l_self_modules_n_parameters_bias_, 1e-05);  l_self_modules_n_parameters_weight_ = l_self_modules_n_parameters_bias_ = None
        linear = torch._C._nn.linear(layer_norm, l_self_modules_qkv_parameters_weight_, l_self_modules_qkv_parameters_bias_);  layer_norm = l_self_modules_qkv_parameters_weight_ = l_self_modules_qkv_parameters_bias_ = None
        view = linear.view(2, 6, 3, 4, 8);  linear = None
        permute = view.permute(2, 0, 3, 1, 4);  view = None
        unbind = permute.unbind(0);  permute = None
        q = unbind[0]
        k = unbind[1]
        v = unbind[2];  unbind = None
        y = torch._C._nn.scaled_dot_product_attention(q, k, v, attn_mask = l_args_1_);  q = k = v = l_args_1_ = None
        transpose = y.transpose(1, 2);  y = None
        reshape = transpose.reshape(2, 6, 32);  transpose = None
        linear_1 = torch._C._nn.linear(reshape, l_self_modules_o_parameters_weight_, l_self_modules_o_parameters_bias_);  reshape = l_self_modules_o_parameters_weight_ = l_self_modules_o_parameters_bias_ = None
        add = l_args_0_ + linear_1;  l_args_0_ = linear_1 = None
        return (add,)
