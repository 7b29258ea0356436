import torch
from torch import device


class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_w_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_w_parameters_bias_ : torch.nn.parameter.Parameter, L_args_0_ : torch.Tensor, L_args_1_ : torch.Tensor):
        l_self_modules_w_parameters_weight_ = L_self_modules_w_parameters_weight_
        l_self_modules_w_parameters_bias_ = L_self_modules_w_parameters_bias_
        l_args_0_ = L_args_0_
        l_args_1_ = L_args_1_
        linear = torch._C._nn.linear(l_args_0_, l_self_modules_w_parameters_weight_, l_self_modules_w_parameters_bias_);  l_self_modules_w_parameters_weight_ = l_self_modules_w_parameters_bias_ = None
        getitem = l_args_1_[0]
        m = linear[getitem];  linear = getitem = None
        zeros_like = torch.zeros_like(l_args_0_);  l_args_0_ = None
        getitem_2 = l_args_1_[1]
        y = zeros_like.index_add(0, getitem_2, m);  zeros_like = getitem_2 = None
        zeros = torch.zeros(10, device = device(type='cpu'))
        getitem_3 = l_args_1_[1];  l_args_1_ = None
        getitem_4 = m[(slice(None, None, None), 0)];  m = None
        ones_like = torch.ones_like(getitem_4);  getitem_4 = None
        d = zeros.index_add(0, getitem_3, ones_like);  zeros = getitem_3 = ones_like = None
        clamp = d.clamp(min = 1);  d = None
        unsqueeze = clamp.unsqueeze(-1);  clamp = None
        truediv = y / unsqueeze;  y = unsqueeze = None
        relu = torch.nn.functional.relu(truediv);  truediv = None
        return (relu,)
