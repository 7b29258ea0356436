import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_gate_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_gate_parameters_bias_ : torch.nn.parameter.Parameter, L_args_0_ : torch.Tensor, L_self_parameters_up_ : torch.nn.parameter.Parameter):
        l_self_modules_gate_parameters_weight_ = L_self_modules_gate_parameters_weight_
        l_self_modules_gate_parameters_bias_ = L_self_modules_gate_parameters_bias_
        l_args_0_ = L_args_0_
        l_self_parameters_up_ = L_self_parameters_up_
        linear = torch._C._nn.linear(l_args_0_, l_self_modules_gate_parameters_weight_, l_self_modules_gate_parameters_bias_);  l_self_modules_gate_parameters_weight_ = l_self_modules_gate_parameters_bias_ = None
        softmax = linear.softmax(-1);  linear = None
        topk = softmax.topk(2);  softmax = None
        weight = topk[0]
        chosen = topk[1];  topk = None
        getitem_2 = l_self_parameters_up_[chosen];  l_self_parameters_up_ = chosen = None
        y = torch.functional.einsum('bd,bkde->bke', l_args_0_, getitem_2);  l_args_0_ = getitem_2 = None
        unsqueeze = weight.unsqueeze(-1);  weight = None
        mul = y * unsqueeze;  y = unsqueeze = None
        sum_1 = mul.sum(1);  mul = None
        return (sum_1,)
