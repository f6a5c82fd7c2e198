"""Files that ended the process that read them, the smallest of each kind, and 300 new ones."""

from __future__ import annotations

import base64
import io
import zlib

import h5py
import numpy as np
import pytest

from benchmarks.mutants.readers import Tracebacks, open_one
from benchmarks.mutants.uploads import upload
from calib.data import inspect
from tests.conftest import simulate

LINKS = """
c-rgqaB<`1lHy|K;9!7(|4{Im6~Z@wil<~Q%k}qg31U*%u$DO+8MiPAffSsFDokXA&|FLmAXW+kT|nov(`Vd*JOUWlfgC0V0R{{Y&4RkC9ZCaLq0&&mNu-
S|NID@#Dgf!v%rLP4O)(Lt5DymyR**VwP*7;xWQ5rPvn56-VU=4jP!$8reT)pKG{U|Bh6<n^FqxZBo1_>}=|JJ&nNA@-ZVasN#RHTXLcrF|@%nGdpbloP$
t<-6$0{eoH2Eo^402%R(^Efc8Jxh(#d{m}Fo=SgJG#%GV2A}Xk4tL5VXy=<w@z63pTQf<%-!+TiD48BHsBT<><UlljKGwY24Zj*u;;mXxS&QD@8w84Mh-@
%L<2?!eK5li#xR00jA0BD7{e6CFoQA7VGIi(V>AW^D*yl~XjiH
"""
"""An HDF5 file of 1,523 bytes with nine dense links and another number in their index: SIGSEGV in `for key in`."""

SLOTS = """
c-rgqaB<`1lHy|K;9!7(|4{Im6~Z@wil<~Q%k}qg31U*%u$DO+8MiPAAuCK|gwR|}3?Nnt16@FDl)!DbAddhBb|8m|L4X0nL$jdnYKPK5RbcR$8Pz0CB5h
=Wo4~*TF;W3YBTT#K%oXhv;^D%;3R9P&agz~d2h0|oMR#7f1p`$vz}&~kfJ(zaJ7WMt1<($d%uT3GQVghcOvT$erw|`E2G;lD0m=*^VC&|1{WoP$2Q$}Xm
fC_Ni<4oR{FG1zIWY6-sUNirPGIKZy$yR9M8V7*-RDm*#DbZ}CAHr$Sb~{bC#?L>;0<Qx?)d7&FbW16a0?E0g(q}IV9H7ZF}MrZ^V~dKoEXj{DGf}RK8KN
mktxxDkwG8KFoZFTU<_jz!vw}Kg)z)v409O60>~JRfx!v@D>z#(
"""
"""Another, whose heap has no columns: SIGFPE."""


REQUIRED = """
c-oavOA5j;5S^A7vh89@0$FrpsE`&b=&BoUP`p7c0flO7>gP_bJ)k4DJ2wvVdA#{D)pl1Pphatu5#Y$R6ajoiiV;8z=?^xF$c1EV%E1JXDZ2*Ahvwi;H
HJjYLC)HG?^=kN(n=f9R5j<IMjj~<KLb)D%D=8qnr;W$QZBeMz&^D!h#5fv(xk8b<>szg)Aw2JefLQ2&JV}#oUAtaGB1?Y)bb*$=pk=&!ykY
"""
"""277 bytes of Parquet, whose column is required and yet counts missing values: abort() in `group.column(0)`."""


def unpacked(packed: str) -> bytes:
    return zlib.decompress(base64.b85decode(packed.replace("\n", "")))


ENDING = {
    "hdf5 links": lambda: ("links.h5", unpacked(LINKS)),
    "hdf5 heap": lambda: ("links.h5", unpacked(SLOTS)),
    "parquet": lambda: ("required.parquet", unpacked(REQUIRED)),
}
BY_CHANCE = {"hdf5 links", "parquet"}
"""The first reads past the end of a block: what lies there decides between the end of the process and an error of HDF5.

The second ends only a reader that asks for the sizes of its columns.
"""


@pytest.mark.parametrize(
    ("name", "isolate"),
    [*((name, True) for name in ENDING), ("hdf5 links", None), ("hdf5 heap", None)],
)
def test_a_file_that_ends_its_reader_is_refused(name, isolate):
    (finding,) = inspect(ENDING[name](), isolate=isolate).findings
    assert finding.code == "reader_ended" or (name in BY_CHANCE and finding.code == "damaged")
    assert ("SIG" in finding.message) == (finding.code == "reader_ended")
    logits, labels = simulate(60)
    whole = io.BytesIO()
    with h5py.File(whole, "w") as file:
        file["logits"], file["labels"] = logits, labels
    np.testing.assert_array_equal(inspect(("a.h5", whole), isolate=True).predictions.labels, labels)


@pytest.mark.long
def test_new_ones_are_read_or_refused():
    with Tracebacks() as log:
        for number in range(300):
            answer = open_one(upload(number, seed=1), log)
            assert not answer.problem, (number, answer)
