"""Models without counts of their own refuse further rows."""

import counterpane as cp
from counterpane.errors import ParameterError
from error_checks import raises


def test_only_bayesian_networks_take_further_rows():
    titanic = cp.load_dataset("titanic")
    network = cp.ChowLiu().fit(titanic).model_
    for model in (cp.Mixture([network, network], [0.5, 0.5]), cp.GSMN().fit(titanic).model_):
        with raises(ParameterError, about="learn"):
            model.update(titanic)
