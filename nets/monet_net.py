"""MoNet: neighbours weighted by Gaussian kernels of degrees, eq. (21)-(23)."""

from typing import ClassVar, Literal

from pydantic import Field

from layers.monet_layer import MoNetLayer
from nets.skeleton import GCNConfig, MessagePassingNet


class MoNetNet(MessagePassingNet):
    class Config(GCNConfig):
        model: Literal["MoNet"] = Field("MoNet", description="which net")
        n_kernels: int = Field(3, gt=0, description="number K of Gaussian kernels, eq. (21)")
        pseudo_dim: int = Field(2, gt=0, description="number of pseudo coordinates of an edge, eq. (23)")
        form: Literal["program", "text"] = Field(
            "program",
            description="bias after the residual connection and (deg + 1)^-1/2, as in the program that made the tables, or bias "
            "inside batch normalisation and deg^-1/2, eq. (23)",
        )
        version: ClassVar[int] = 2  # 1: form="text" alone, with another start of U

    def make_layer(self, config, i, in_dim, out_dim):
        return MoNetLayer(in_dim, out_dim, config.n_kernels, config.pseudo_dim, form=config.form, **config.options)
