"""Keys that are no plain text: path steps for fixes, and stand-ins for unknown map keys."""

from kcheck.text.values import Unknown


class Json(str):
    """An attribute whose value is JSON text, written with `jsonencode`."""

    __slots__ = ()


class MapName(str):
    """An attribute whose value is an object, not a nested block."""

    __slots__ = ()


class Item(str):
    """A step to the list item with this text as its `name`."""

    __slots__ = ()


class Reference(str):
    """A map key known only after apply, such as a subnet id; `datum` is the key itself."""

    __slots__ = ("datum",)
    datum: Unknown

    @property
    def loose(self) -> bool:
        """Whether it may turn out to be any key, unlike a value only the cloud knows."""
        return not self.identified or (self.datum.symbol is not None and self.datum.symbol.attribute == "text")

    @property
    def identified(self) -> bool:
        """Whether equal references are the same key."""
        return self.datum.symbol is not None and "?" not in self.datum.symbol.attribute


def key_of(datum: Unknown) -> Reference | None:
    """Return the stand-in for an unknown map key; None without a known identity."""
    key = stand_in(datum)
    return key if key.identified else None


def stand_in(datum: Unknown) -> Reference:
    """Return the stand-in for an unknown map key; without an identity it is named after its reason."""
    symbol = datum.symbol
    text = datum.reason.partition(" ")[0]
    if symbol is not None and "?" not in symbol.attribute:
        text = symbol.address.strip('"') if symbol.attribute == "text" else f"{symbol.address}.{symbol.attribute}"
    key = Reference(f"<{text}>")
    key.datum = datum
    return key
