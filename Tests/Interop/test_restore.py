"""A server that is restored from a backup: clients show what it has, not what was lost."""

import pathlib
import queue
import shutil

import grpc
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport

from test_listeners import Heard

PROJECT = "restore"
SECONDS = 60
WAYS = ["folder", "in place", "import"]


class Restored:
    """A server with ten documents and a backup, to which it is put back."""

    def __init__(self, way, start_server, port, folder, monkeypatch):
        self.way, self.start_server, self.port = way, start_server, port
        self.data, self.backup = folder / "data", folder / "backup"
        # An import begins with what an export has written.
        options = ["--export-on-exit", str(self.backup)] if way == "import" else []
        self.server = start_server("--data", str(self.data), *options, port=port)
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", self.server.address)
        self.client = self.connect()
        for number in range(10):
            self.client.document(f"things/d{number}").set({"n": number})
        if way == "import":
            assert self.server.stop() == 0
            self.server = start_server("--data", str(self.data), port=port)
        else:
            # Nothing is written meanwhile.
            shutil.copytree(self.data, self.backup)

    def connect(self):
        return firestore.Client(project=PROJECT, credentials=AnonymousCredentials())

    def lose(self):
        """Makes changes that the backup does not have."""
        self.client.document("things/d1").set({"n": 100})
        self.client.document("things/d2").delete()
        self.client.document("things/d10").set({"n": 10})

    def restore(self):
        assert self.server.stop() == 0
        options = []
        if self.way == "in place":
            for name in ["data.mdb", "data.wal"]:
                database = pathlib.Path(PROJECT, "(default)", name)
                shutil.copyfile(self.backup / database, self.data / database)
        else:
            shutil.rmtree(self.data)
            if self.way == "import":
                options = ["--import", str(self.backup)]
            else:
                shutil.copytree(self.backup, self.data)
        self.server = self.start_server("--data", str(self.data), *options, port=self.port)
        self.client = self.connect()

    def write(self):
        """Makes changes before the clients are back."""
        self.client.document("things/d5").set({"n": 500})
        self.client.document("things/d6").delete()

    def documents(self):
        return {d.id: d.to_dict() for d in self.client.collection("things").stream()}


@pytest.fixture
def restored(request, start_server, reserved_port, tmp_path, monkeypatch):
    restored = Restored(request.param, start_server, reserved_port, tmp_path, monkeypatch)
    yield restored
    assert restored.server.stop() == 0


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("restored", WAYS, indirect=True)
def test_a_listener_hears_the_restored_documents(restored, writes):
    with Heard(restored.client.collection("things")) as heard:
        heard.until(lambda s: len(s[0]) == 10)
        restored.lose()
        heard.until(lambda s: s[2].get("d1") == {"n": 100} and "d10" in s[2] and "d2" not in s[2])
        restored.restore()
        if writes:
            restored.write()
        expected = restored.documents()
        assert expected["d1"] == {"n": 1} and "d2" in expected and "d10" not in expected
        heard.until(lambda s: s[2] == expected)
        restored.client.document("things/d1").set({"n": 1000})
        heard.until(lambda s: s[2] == {**expected, "d1": {"n": 1000}})


class Listening:
    """A Listen stream with one target, of the collection."""

    def __init__(self, address, token=b""):
        self.channel = grpc.insecure_channel(address)
        client = FirestoreClient(transport=FirestoreGrpcTransport(channel=self.channel))
        database = f"projects/{PROJECT}/databases/(default)"
        # The stream stays open for further requests.
        self.requests = queue.Queue()
        self.requests.put(types.ListenRequest(database=database, add_target={
            "target_id": 1, "resume_token": token, "query": {
                "parent": f"{database}/documents",
                "structured_query": {"from_": [{"collection_id": "things"}]}}}))
        self.answers = client.listen(
            requests=iter(self.requests.get, None), metadata=[("google-cloud-resource-prefix", database)],
            timeout=SECONDS)
        self.versions, self.was_reset, self.token = {}, False, b""

    def until_current(self):
        """Takes everything up to the snapshot that has all documents."""
        Kind = types.TargetChange.TargetChangeType
        is_current = False
        for answer in self.answers:
            change = answer.target_change
            if "document_change" in answer:
                document = answer.document_change.document
                self.versions[document.name.rpartition("/")[2]] = document.update_time
            elif "target_change" in answer:
                is_current = is_current or change.target_change_type == Kind.CURRENT
                self.was_reset = self.was_reset or change.target_change_type == Kind.RESET
                self.token = change.resume_token or self.token
                if is_current and change.read_time and not change.target_ids:
                    self.read_time = change.read_time
                    break
        self.requests.put(None)
        self.channel.close()
        return self


@pytest.mark.parametrize("restored", WAYS, indirect=True)
def test_versions_do_not_go_back(restored):
    """A client ignores documents and snapshots that are older than those that it has."""
    restored.lose()
    lost = Listening(restored.server.address).until_current()
    restored.restore()
    returned = Listening(restored.server.address, lost.token).until_current()
    assert returned.was_reset and len(returned.versions) == 10
    assert min(returned.versions.values()) > max(lost.versions.values())
    assert returned.read_time > lost.read_time
    # Versions that were served are accepted as conditions, and restarts do not change them.
    snapshot = restored.client.document("things/d8").get()
    assert snapshot.update_time == returned.versions["d8"]
    option = restored.client.write_option(last_update_time=snapshot.update_time)
    restored.client.document("things/d8").update({"n": 80}, option)
    assert restored.server.stop() == 0
    restored.server = restored.start_server("--data", str(restored.data), port=restored.port)
    again = Listening(restored.server.address, returned.token).until_current()
    assert not again.was_reset and list(again.versions) == ["d8"]
    assert restored.client.document("things/d9").get().update_time == returned.versions["d9"]
