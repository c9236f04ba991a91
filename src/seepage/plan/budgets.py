"""One ε, or one for each attribute."""

from __future__ import annotations

from collections.abc import Mapping

from seepage._numeric import check_epsilon
from seepage.domain import Domain
from seepage.errors import InvalidInputError


def budget_of_each(domain: Domain, epsilon: float | Mapping[str, float]) -> dict[str, float]:
    """Return ε of each attribute.

    Raises
    ------
    DomainError
        If a name is not in the domain.
    InvalidInputError
        If an attribute has no budget, or one is negative, NaN or not a number.
    """
    if not isinstance(epsilon, Mapping):
        value = check_epsilon(epsilon)
        if value.ndim:
            msg = "expected one epsilon, or a mapping of column names to epsilon, got an array"
            raise InvalidInputError(msg)
        return dict.fromkeys(domain.names, float(value))
    for name in epsilon:
        domain.position(name)
    missing = [name for name in domain.names if name not in epsilon]
    if missing:
        msg = f"expected a budget for every column, got none for {', '.join(map(repr, missing))}"
        raise InvalidInputError(msg)
    return {
        name: float(check_epsilon(epsilon[name], f"epsilon of column {name!r}").reshape(()))
        for name in domain.names
    }
