import pytest


@pytest.mark.parametrize(
    "text",
    ["plain", "a b", "with 'quotes\"", "a[b]c", "x::y", "a/b.py::z", "reg.ex*+?(|)", "grün", "a > b", "", "-k", "$HOME `id`"],
)
def test_text(text):
    assert text != "a[b]c"


@pytest.mark.parametrize("n", [1, 10, 100])
def test_number(n):
    assert n < 1000


@pytest.mark.integration
def test_talks():
    assert True


@pytest.mark.e2e
def test_as_met():
    assert True
