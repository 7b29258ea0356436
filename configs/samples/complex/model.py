import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_args_0_ : torch.Tensor, L_self_parameters_f_ : torch.nn.parameter.Parameter):
        l_args_0_ = L_args_0_
        l_self_parameters_f_ = L_self_parameters_f_
        fft_rfft = torch._C._fft.fft_rfft(l_args_0_);  l_args_0_ = None
        mul = fft_rfft * l_self_parameters_f_;  fft_rfft = l_self_parameters_f_ = None
        fft_irfft = torch._C._fft.fft_irfft(mul, n = 16);  mul = None
        return (fft_irfft,)
