"""Keys of JSON and YAML objects occur once: of two values the last would win in silence."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml


class TwiceError(ValueError):
    """A key occurs twice.

    Parameters
    ----------
    key : object
    """

    def __init__(self, key: object) -> None:
        shown = repr(key)
        super().__init__(f"{shown if len(shown) < 80 else shown[:77] + '…'} occurs twice")
        self.key = key


def unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Object of different keys; an ``object_pairs_hook`` of `json.loads`.

    Raises
    ------
    TwiceError
        If a key occurs twice.
    """
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key in found:
            raise TwiceError(key)
        found[key] = value
    return found


def load_yaml(text: str) -> Any:
    """Read YAML of plain values.

    Raises
    ------
    TwiceError
        If a key occurs twice in one mapping.
    yaml.YAMLError
        If it is no YAML, or a key is a list or a mapping.
    """
    import yaml

    return yaml.load(text, _loader())


@cache
def _loader() -> type[yaml.SafeLoader]:
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses keys that occur twice; what a merge key brings may be replaced."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                    word = self.construct_object(key)
                    if word in seen:
                        raise TwiceError(word)
                    seen.add(word)
            found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return found

    return Loader
