"""The trained field renders the held-out views, as it is."""

from libbench.config import LazyCall as L
from libbench.data import IndexedLoader
from libbench.settings import Timer

from ..data import Views, only, pictures_of
from ..film import Film
from ..model import NeRF

model = L(NeRF)(samples=(48, 24), widths=(32, 96), depths=(3, 5), weights="weights.safetensors")
data = L(IndexedLoader)(dataset=L(Views)(kind="held"), batch_size=1, inputs=["origins", "directions"], collate=only)
evaluator = L(Film)(images=L(pictures_of)(dataset=data.dataset))
# A view takes a second, and no process has an interval before its sixth pair.
timer = Timer(budget=240)
