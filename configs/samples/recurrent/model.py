import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_args_0_ : torch.Tensor, L_self_modules_i_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_i_parameters_bias_ : torch.nn.parameter.Parameter, L_self_modules_h_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_h_parameters_bias_ : torch.nn.parameter.Parameter):
        l_args_0_ = L_args_0_
        l_self_modules_i_parameters_weight_ = L_self_modules_i_parameters_weight_
        l_self_modules_i_parameters_bias_ = L_self_modules_i_parameters_bias_
        l_self_modules_h_parameters_weight_ = L_self_modules_h_parameters_weight_
        l_self_modules_h_parameters_bias_ = L_self_modules_h_parameters_bias_
        h = l_args_0_.new_zeros(3, 16)
        unbind = l_args_0_.unbind(1);  l_args_0_ = None
        step = unbind[0]
        step_1 = unbind[1]
        step_2 = unbind[2]
        step_3 = unbind[3]
        step_4 = unbind[4];  unbind = None
        linear = torch._C._nn.linear(step, l_self_modules_i_parameters_weight_, l_self_modules_i_parameters_bias_);  step = None
        chunk = linear.chunk(3, -1);  linear = None
        getitem_5 = chunk[0]
        getitem_6 = chunk[1]
        getitem_7 = chunk[2];  chunk = None
        linear_1 = torch._C._nn.linear(h, l_self_modules_h_parameters_weight_, l_self_modules_h_parameters_bias_)
        chunk_1 = linear_1.chunk(3, -1);  linear_1 = None
        getitem_8 = chunk_1[0]
        getitem_9 = chunk_1[1]
        getitem_10 = chunk_1[2];  chunk_1 = None
        add = getitem_6 + getitem_9;  getitem_6 = getitem_9 = None
        z = torch.sigmoid(add);  add = None
        sub = 1 - z
        add_1 = getitem_5 + getitem_8;  getitem_5 = getitem_8 = None
        sigmoid_1 = torch.sigmoid(add_1);  add_1 = None
        mul = sigmoid_1 * getitem_10;  sigmoid_1 = getitem_10 = None
        add_2 = getitem_7 + mul;  getitem_7 = mul = None
        tanh = torch.tanh(add_2);  add_2 = None
        mul_1 = sub * tanh;  sub = tanh = None
        mul_2 = z * h;  z = h = None
        h_1 = mul_1 + mul_2;  mul_1 = mul_2 = None
        linear_2 = torch._C._nn.linear(step_1, l_self_modules_i_parameters_weight_, l_self_modules_i_parameters_bias_);  step_1 = None
        chunk_2 = linear_2.chunk(3, -1);  linear_2 = None
        getitem_11 = chunk_2[0]
        getitem_12 = chunk_2[1]
        getitem_13 = chunk_2[2];  chunk_2 = None
        linear_3 = torch._C._nn.linear(h_1, l_self_modules_h_parameters_weight_, l_self_modules_h_parameters_bias_)
        chunk_3 = linear_3.chunk(3, -1);  linear_3 = None
        getitem_14 = chunk_3[0]
        getitem_15 = chunk_3[1]
        getitem_16 = chunk_3[2];  chunk_3 = None
        add_4 = getitem_12 + getitem_15;  getitem_12 = getitem_15 = None
        z_1 = torch.sigmoid(add_4);  add_4 = None
        sub_1 = 1 - z_1
        add_5 = getitem_11 + getitem_14;  getitem_11 = getitem_14 = None
        sigmoid_3 = torch.sigmoid(add_5);  add_5 = None
        mul_3 = sigmoid_3 * getitem_16;  sigmoid_3 = getitem_16 = None
        add_6 = getitem_13 + mul_3;  getitem_13 = mul_3 = None
        tanh_1 = torch.tanh(add_6);  add_6 = None
        mul_4 = sub_1 * tanh_1;  sub_1 = tanh_1 = None
        mul_5 = z_1 * h_1;  z_1 = h_1 = None
        h_2 = mul_4 + mul_5;  mul_4 = mul_5 = None
        linear_4 = torch._C._nn.linear(step_2, l_self_modules_i_parameters_weight_, l_self_modules_i_parameters_bias_);  step_2 = None
        chunk_4 = linear_4.chunk(3, -1);  linear_4 = None
        getitem_17 = chunk_4[0]
        getitem_18 = chunk_4[1]
        getitem_19 = chunk_4[2];  chunk_4 = None
        linear_5 = torch._C._nn.linear(h_2, l_self_modules_h_parameters_weight_, l_self_modules_h_parameters_bias_)
        chunk_5 = linear_5.chunk(3, -1);  linear_5 = None
        getitem_20 = chunk_5[0]
        getitem_21 = chunk_5[1]
        getitem_22 = chunk_5[2];  chunk_5 = None
        add_8 = getitem_18 + getitem_21;  getitem_18 = getitem_21 = None
        z_2 = torch.sigmoid(add_8);  add_8 = None
        sub_2 = 1 - z_2
        add_9 = getitem_17 + getitem_20;  getitem_17 = getitem_20 = None
        sigmoid_5 = torch.sigmoid(add_9);  add_9 = None
        mul_6 = sigmoid_5 * getitem_22;  sigmoid_5 = getitem_22 = None
        add_10 = getitem_19 + mul_6;  getitem_19 = mul_6 = None
        tanh_2 = torch.tanh(add_10);  add_10 = None
        mul_7 = sub_2 * tanh_2;  sub_2 = tanh_2 = None
        mul_8 = z_2 * h_2;  z_2 = h_2 = None
        h_3 = mul_7 + mul_8;  mul_7 = mul_8 = None
        linear_6 = torch._C._nn.linear(step_3, l_self_modules_i_parameters_weight_, l_self_modules_i_parameters_bias_);  step_3 = None
        chunk_6 = linear_6.chunk(3, -1);  linear_6 = None
        getitem_23 = chunk_6[0]
        getitem_24 = chunk_6[1]
        getitem_25 = chunk_6[2];  chunk_6 = None
        linear_7 = torch._C._nn.linear(h_3, l_self_modules_h_parameters_weight_, l_self_modules_h_parameters_bias_)
        chunk_7 = linear_7.chunk(3, -1);  linear_7 = None
        getitem_26 = chunk_7[0]
        getitem_27 = chunk_7[1]
        getitem_28 = chunk_7[2];  chunk_7 = None
        add_12 = getitem_24 + getitem_27;  getitem_24 = getitem_27 = None
        z_3 = torch.sigmoid(add_12);  add_12 = None
        sub_3 = 1 - z_3
        add_13 = getitem_23 + getitem_26;  getitem_23 = getitem_26 = None
        sigmoid_7 = torch.sigmoid(add_13);  add_13 = None
        mul_9 = sigmoid_7 * getitem_28;  sigmoid_7 = getitem_28 = None
        add_14 = getitem_25 + mul_9;  getitem_25 = mul_9 = None
        tanh_3 = torch.tanh(add_14);  add_14 = None
        mul_10 = sub_3 * tanh_3;  sub_3 = tanh_3 = None
        mul_11 = z_3 * h_3;  z_3 = h_3 = None
        h_4 = mul_10 + mul_11;  mul_10 = mul_11 = None
        linear_8 = torch._C._nn.linear(step_4, l_self_modules_i_parameters_weight_, l_self_modules_i_parameters_bias_);  step_4 = l_self_modules_i_parameters_weight_ = l_self_modules_i_parameters_bias_ = None
        chunk_8 = linear_8.chunk(3, -1);  linear_8 = None
        getitem_29 = chunk_8[0]
        getitem_30 = chunk_8[1]
        getitem_31 = chunk_8[2];  chunk_8 = None
        linear_9 = torch._C._nn.linear(h_4, l_self_modules_h_parameters_weight_, l_self_modules_h_parameters_bias_);  l_self_modules_h_parameters_weight_ = l_self_modules_h_parameters_bias_ = None
        chunk_9 = linear_9.chunk(3, -1);  linear_9 = None
        getitem_32 = chunk_9[0]
        getitem_33 = chunk_9[1]
        getitem_34 = chunk_9[2];  chunk_9 = None
        add_16 = getitem_30 + getitem_33;  getitem_30 = getitem_33 = None
        z_4 = torch.sigmoid(add_16);  add_16 = None
        sub_4 = 1 - z_4
        add_17 = getitem_29 + getitem_32;  getitem_29 = getitem_32 = None
        sigmoid_9 = torch.sigmoid(add_17);  add_17 = None
        mul_12 = sigmoid_9 * getitem_34;  sigmoid_9 = getitem_34 = None
        add_18 = getitem_31 + mul_12;  getitem_31 = mul_12 = None
        tanh_4 = torch.tanh(add_18);  add_18 = None
        mul_13 = sub_4 * tanh_4;  sub_4 = tanh_4 = None
        mul_14 = z_4 * h_4;  z_4 = h_4 = None
        h_5 = mul_13 + mul_14;  mul_13 = mul_14 = None
        return (h_5,)
