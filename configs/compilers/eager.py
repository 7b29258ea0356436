"""One of the networks as it is; `net` names which."""

from ..common.networks import data, model, models, net
