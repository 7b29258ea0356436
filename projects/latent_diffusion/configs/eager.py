"""The diffusion as it is: a loop over the UNet, noise drawn in every step, then the decoder."""

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.evaluators.image_quality import ImageQuality
from libbench.workloads.inference import Inference

from ..data import Prompts, drawn
from ..model import LatentDiffusion, scheduler, unet, vae

model = L(LatentDiffusion)(
    unet=L(unet)(widths=(16, 32), words=16),
    vae=L(vae)(widths=(8, 16, 16)),
    scheduler=L(scheduler)(betas="scaled_linear"),
    steps=20,
    guidance=2.0,
    eta=1.0,
    noise="picture",
    weights="weights",
)
data = L(IndexedLoader)(dataset=L(Prompts)(count=20), batch_size=4)
workload = L(Inference)(method="generate")
evaluator = L(ImageQuality)(images=L(drawn)(), output="pictures", channels=0)
