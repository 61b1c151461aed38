"""A server for the tests, and clients of it.

LARDERD is the program to start. Where FIRESTORE_EMULATOR_HOST is set instead, the tests run against
whatever listens there, and those that start servers of their own are skipped.
"""

import itertools
import os
import pathlib
import socket
import subprocess
import tempfile

import grpc
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport

from differences import DIFFERENCES

PROJECT = "interop"
START_SECONDS = 60
STOP_SECONDS = 60
numbers = itertools.count(1)


def pytest_addoption(parser):
    parser.addoption(
        "--full", action="store_true",
        help="attacks at their whole size, on a release build alone on the machine")


def pytest_collection_modifyitems(items):
    """Against another server tests that are known to differ are left out, each with its reason."""
    if "LARDERD" in os.environ:
        return
    for item in items:
        reason = DIFFERENCES.get(item.name) or DIFFERENCES.get(item.originalname)
        if reason:
            item.add_marker(pytest.mark.skip(reason=f"Google's emulator: {reason}"))


class Server:
    """A process of larderd."""

    def __init__(self, arguments, port=0, files=None):
        self.directory = tempfile.TemporaryDirectory()
        pipe = os.path.join(self.directory.name, "ready")
        self.log = os.path.join(self.directory.name, "log")
        command = [os.environ["LARDERD"], "--port", str(port), "--ready-file", pipe, *arguments]
        if files:
            command = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(files), *command]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True)
        # The status line comes when the server listens, an empty one when it ends before.
        self.status = self.process.stdout.readline()
        if not self.status:
            raise RuntimeError(f"larderd ended: {pathlib.Path(self.log).read_text()}")
        self.address = pathlib.Path(pipe).read_text().strip()
        self.port = int(self.address.rpartition(":")[2])

    def stop(self):
        """Ends it in good order; gives the exit status."""
        self.process.terminate()
        status = self.process.wait(STOP_SECONDS)
        self.process.stdout.close()
        self.directory.cleanup()
        return status

    def kill(self):
        """Ends it in no order at all."""
        self.process.kill()
        self.process.wait(STOP_SECONDS)
        self.process.stdout.close()
        self.directory.cleanup()


@pytest.fixture(scope="session")
def start_server():
    """Starts servers, which are stopped at the end."""
    if "LARDERD" not in os.environ:
        pytest.skip("LARDERD does not say which server to start")
    servers = []

    def start(*arguments, **options):
        server = Server(arguments, **options)
        servers.append(server)
        return server

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture
def reserved_port():
    """A port that no other program can take while a server that is started again does not listen.

    A socket is bound to it that does not listen; like larderd it sets SO_REUSEADDR.
    """
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


@pytest.fixture(scope="session")
def address(request, tmp_path_factory):
    """Where the server of most tests listens."""
    if "LARDERD" not in os.environ:
        return os.environ["FIRESTORE_EMULATOR_HOST"]
    start = request.getfixturevalue("start_server")
    server = start("--data", str(tmp_path_factory.mktemp("data")))
    os.environ["FIRESTORE_EMULATOR_HOST"] = server.address
    return server.address


@pytest.fixture(scope="session")
def client(address):
    return firestore.Client(project=PROJECT, credentials=AnonymousCredentials())


@pytest.fixture
def async_client(address):
    return firestore.AsyncClient(project=PROJECT, credentials=AnonymousCredentials())


@pytest.fixture(scope="session")
def raw(address):
    """The calls themselves, without the client library's checks."""
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    channel = grpc.insecure_channel(address, options=options)
    with FirestoreClient(transport=FirestoreGrpcTransport(channel=channel)) as raw:
        yield raw


@pytest.fixture
def collection(client):
    """A collection that no other test has."""
    return client.collection(f"c{next(numbers)}_{os.getpid()}")


@pytest.fixture(scope="session")
def database():
    return f"projects/{PROJECT}/databases/(default)"


@pytest.fixture(scope="session")
def root(database):
    return f"{database}/documents"


def pytest_terminal_summary(terminalreporter):
    """Ends the output with the line that the checks count tests by."""
    passed, failed = (
        sum(len(terminalreporter.stats.get(kind, [])) for kind in kinds)
        for kinds in [("passed",), ("failed", "error")])
    terminalreporter.write_line(f"{passed} passed, {failed} failed")
