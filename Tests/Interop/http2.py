"""HTTP/2 and gRPC by hand, so that they can also be wrong."""

import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
SERVICE = "google.firestore.v1.Firestore"


def frame(kind, flags, stream, payload=b"", length=None):
    """A frame, whose header may name another length than it has."""
    length = len(payload) if length is None else length
    return struct.pack(">I", length & 0xFFFFFF)[1:] + struct.pack(
        ">BBI", kind & 0xFF, flags & 0xFF, stream & 0xFFFFFFFF) + payload


def header_block(fields):
    """Literal fields (RFC 7541, 6.2.2) that no table remembers."""
    def text(value):
        value = value.encode()
        if len(value) < 127:
            return bytes([len(value)]) + value
        rest, length = len(value) - 127, b"\x7f"
        while rest >= 128:
            length += bytes([rest % 128 + 128])
            rest //= 128
        return length + bytes([rest]) + value

    return b"".join(b"\x00" + text(name) + text(value) for name, value in fields)


def call_headers(method, *more):
    return header_block([
        (":method", "POST"), (":scheme", "http"), (":path", f"/{SERVICE}/{method}"),
        (":authority", "localhost"), ("content-type", "application/grpc"), ("te", "trailers"),
        *more])


def grpc_message(payload, compressed=0, length=None):
    return struct.pack(">BI", compressed, len(payload) if length is None else length) + payload


def call(method, *messages, stream=1):
    """The frames of a call."""
    data = [frame(DATA, 0, stream, grpc_message(message)) for message in messages]
    return [frame(HEADERS, END_HEADERS, stream, call_headers(method)), *data,
            frame(DATA, END_STREAM, stream)]


def frames(connection):
    """The frames that come on a connection, as kinds, flags and streams."""
    received = b""
    while piece := connection.recv(65_536):
        received += piece
        while len(received) >= 9 + int.from_bytes(received[:3], "big"):
            kind, flags, stream = struct.unpack(">BBI", received[3:9])
            received = received[9 + int.from_bytes(received[:3], "big"):]
            yield kind, flags, stream


def converse(port, data, seconds, abort=False):
    """Sends bytes on a connection of their own and reads until the server closes it.

    Gives what came. Raises TimeoutError where the server neither answers nor closes.
    """
    received = b""
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        try:
            connection.sendall(data)
            if abort:
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return received
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65_536):
                received += piece
        except TimeoutError:
            raise
        except OSError:
            # The server has closed it already; to shut down what is closed is an error of its own.
            pass
    return received
