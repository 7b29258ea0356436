import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_self_modules_w_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_w_parameters_bias_ : torch.nn.parameter.Parameter, L_args_0_ : torch.Tensor):
        l_self_modules_w_parameters_weight_ = L_self_modules_w_parameters_weight_
        l_self_modules_w_parameters_bias_ = L_self_modules_w_parameters_bias_
        l_args_0_ = L_args_0_
        s = torch._C._nn.linear(l_args_0_, l_self_modules_w_parameters_weight_, l_self_modules_w_parameters_bias_);  l_args_0_ = l_self_modules_w_parameters_weight_ = l_self_modules_w_parameters_bias_ = None
        argmax = s.argmax(-1)
        topk = s.topk(3)
        getitem_1 = topk[1];  topk = None
        gt = s > 0;  s = None
        sum_1 = gt.sum(-1);  gt = None
        return (argmax, getitem_1, sum_1)
