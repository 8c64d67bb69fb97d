"""Why a stream cannot be opened: as OpenCV does not tell, its sender is asked once more."""

import re
import socket
from contextlib import suppress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_PORTS = {"http": 80, "https": 443, "rtmp": 1935, "rtsp": 554}
#: Without user name and password, which FFmpeg sends in a safer way where the sender knows one.
_REQUESTS = {
    "http": "GET {target} HTTP/1.0\r\nHost: {host}\r\n\r\n",
    "rtsp": "DESCRIBE rtsp://{host}{target} RTSP/1.0\r\nCSeq: 1\r\n\r\n",
}
_REFUSAL = re.compile(rb"(?:HTTP|RTSP)/[0-9.]+ ([45][0-9]{2}[ -~]{0,60})")
_CHECKS = dict.fromkeys(("401", "403"), "user name, password and path") | {"404": "the path"}
_PATIENCE_S = 5.0


def refusal(url: str, timeout_s: float) -> tuple[str, str] | None:
    """What is wrong with a stream that cannot be opened, and what to check; None where that does not show.

    Neither holds a part of the address: its password may have been taken for the host. Behind a proxy nothing
    shows: it reaches what cannot be reached from here.
    """
    try:
        address = urlsplit(url)
        place = address.hostname or "", address.port or _PORTS[address.scheme]
        if address.scheme in getproxies() and not proxy_bypass(place[0]):
            return None
        connection = socket.create_connection(place, min(timeout_s, _PATIENCE_S))
    except (KeyError, ValueError):
        return None
    except socket.gaierror:
        return "cannot be reached: its host is not found", "the host's name, and the network"
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        return f"cannot be reached: {why}", "host and port, and that the sender is on"
    with connection, suppress(OSError, KeyError):
        target = (address.path or "/") + (f"?{address.query}" if address.query else "")
        request = _REQUESTS[address.scheme].format(host=address.netloc.rpartition("@")[2], target=target)
        connection.sendall(request.encode(errors="replace"))
        if found := _REFUSAL.match(connection.recv(1000)):
            status = found[1].decode().strip()
            check = _CHECKS.get(status[:3], "the sender")
            if status.startswith("401") and address.username:  # as was to be expected without it
                return "cannot be read with this user name and password", check
            return f"answers {status}", check
    return None
