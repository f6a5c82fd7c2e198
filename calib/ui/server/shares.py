"""What visitors hold of something that is limited, and how much of it those at one address may."""

from __future__ import annotations

import threading
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from calib.data import DataError, Finding
from calib.data.limits import megabytes
from calib.settings import limit

HOME_NETWORK = 64
"""Bits of an IPv6 address that are the same for all machines of one subscriber; the rest each chooses for itself."""


class Holder(Protocol):
    """What a visitor holds."""

    @property
    def nbytes(self) -> int:
        """Bytes that it takes now."""


Held = TypeVar("Held", bound=Holder)


class Shares(Generic[Held]):
    """Holders with the address of each, counted until nothing refers to them any more. Thread-safe.

    Who is alone is always admitted. Beside others all together may hold so much, and those at one address
    ``CALIB_ADDRESS_SHARE`` of it, so that one visitor with many tabs leaves room for the rest.
    """

    def __init__(self) -> None:
        self._addresses: WeakKeyDictionary[Held, str] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def admit(
        self, holder: Held, address: str, most: float, leaving: Held | None = None, *, what: str, things: str
    ) -> None:
        """Count a holder.

        Parameters
        ----------
        holder : with all that it will take.
        address : of the visitor, as :func:`network` gives it.
        most : bytes that all may take together.
        leaving : what gives way to it.
        what, things : the holder with its verb, and what all hold, for people: "These data need", "data".

        Raises
        ------
        DataError
            If it would be too much; the finding is ``server_full`` or ``address_full``.
        """
        asked = holder.nbytes
        with self._lock:
            others = {other: at for other, at in self._addresses.items() if other not in (leaving, holder)}
            for code, taken, bound, whose in (
                ("server_full", sum(other.nbytes for other in others), most, "other visitors'"),
                (
                    "address_full",
                    sum(other.nbytes for other, at in others.items() if at == address),
                    most * limit("CALIB_ADDRESS_SHARE"),
                    "your address's",
                ),
            ):
                if taken and taken + asked > bound:
                    raise DataError([Finding("error", code, (
                        f"{what} {megabytes(asked)}, and {whose} {things} take {megabytes(taken)} of the "
                        f"{megabytes(int(bound))} that this server sets aside for them."
                    ), "Close other tabs, try again in some minutes, or take less.")])  # fmt: skip
            self._addresses[holder] = address

    def dismiss(self, holder: Held) -> None:
        """Count it no longer."""
        with self._lock:
            self._addresses.pop(holder, None)

    def holders(self) -> list[Held]:
        """All that are counted now."""
        with self._lock:
            return list(self._addresses)

    def clear(self) -> None:
        """Count none."""
        with self._lock:
            self._addresses.clear()


def visitor_address() -> str:
    """The address of the visitor whose page runs; empty without a server."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return ""
    client = runtime.get_instance().get_client(context.session_id)
    connection = None if client is None else client.client_context
    return "" if connection is None else network(connection.remote_ip)


def network(address: str | None) -> str:
    """What counts as one address: an IPv4 address, in either form, or the network that an IPv6 address belongs to."""
    with suppress(ValueError):
        found = ip_address(address or "")
        if isinstance(found, IPv6Address):
            found = found.ipv4_mapped or found
        if isinstance(found, IPv6Address) and not found.is_loopback:
            return str(ip_network((found, HOME_NETWORK), strict=False))
        return "this machine" if found.is_loopback else str(found)
    return address or ""
