import torch
from torch import device
from math import inf


class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_e_parameters_weight_ : torch.nn.parameter.Parameter, L_args_0_ : torch.Tensor, L_self_modules_n_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_q_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_q_parameters_bias_ : torch.nn.parameter.Parameter):
        l_self_modules_e_parameters_weight_ = L_self_modules_e_parameters_weight_
        l_args_0_ = L_args_0_
        l_self_modules_n_parameters_weight_ = L_self_modules_n_parameters_weight_
        l_self_modules_q_parameters_weight_ = L_self_modules_q_parameters_weight_
        l_self_modules_q_parameters_bias_ = L_self_modules_q_parameters_bias_
        x = torch.nn.functional.embedding(l_args_0_, l_self_modules_e_parameters_weight_, None, None, 2.0, False, False);  l_args_0_ = None
        rms_norm = torch.rms_norm(x, (32,), l_self_modules_n_parameters_weight_, None);  l_self_modules_n_parameters_weight_ = None
        linear = torch._C._nn.linear(rms_norm, l_self_modules_q_parameters_weight_, l_self_modules_q_parameters_bias_);  rms_norm = l_self_modules_q_parameters_weight_ = l_self_modules_q_parameters_bias_ = None
        chunk = linear.chunk(3, -1);  linear = None
        q = chunk[0]
        k = chunk[1]
        v = chunk[2];  chunk = None
        ones = torch.ones(20, 20, dtype = torch.bool, device = device(type='cpu'))
        mask = ones.tril();  ones = None
        transpose = k.transpose(1, 2);  k = None
        matmul = q @ transpose;  q = transpose = None
        mul = matmul * 0.1767766952966369;  matmul = None
        invert = ~mask;  mask = None
        masked_fill = mul.masked_fill(invert, -inf);  mul = invert = None
        s = masked_fill.softmax(-1);  masked_fill = None
        matmul_1 = s @ v;  s = v = None
        add = x + matmul_1;  x = matmul_1 = None
        linear_1 = torch._C._nn.linear(add, l_self_modules_e_parameters_weight_);  add = l_self_modules_e_parameters_weight_ = None
        return (linear_1,)
