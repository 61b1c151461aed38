"""Batches of a Write stream that are sent again: the server commits each once, also after a kill."""

import queue

import grpc
import pytest
from google.api_core import exceptions
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport

DATABASE = "projects/once/databases/(default)"
COUNTER = f"{DATABASE}/documents/c/counter"
SECONDS = 60


class WriteStream:
    """A Write stream of a server, with its handshake done."""

    def __init__(self, server):
        self.channel = grpc.insecure_channel(server.address)
        self.client = FirestoreClient(transport=FirestoreGrpcTransport(channel=self.channel))
        self.requests = queue.Queue()
        self.requests.put({"database": DATABASE})
        self.answers = iter(self.client.write(
            requests=(types.WriteRequest(r) for r in iter(self.requests.get, None)),
            metadata=[("google-cloud-resource-prefix", DATABASE)], timeout=SECONDS))
        handshake = next(self.answers)
        self.token, self.id = handshake.stream_token, handshake.stream_id

    def send(self, name=None, **labels):
        """Sends an increment with the name of a batch."""
        if name:
            labels = {"larder-client": "python", "larder-write": name, **labels}
        self.requests.put({"stream_token": self.token, "labels": labels, "writes": [{
            "update": {"name": COUNTER}, "update_mask": {},
            "update_transforms": [{"field_path": "n", "increment": {"integer_value": 1}}]}]})

    def receive(self):
        """The time of the commit, and the value that it gave."""
        answer = next(self.answers)
        [result] = answer.write_results
        return answer.commit_time, result.transform_results[0].integer_value

    def ask(self, name=None, **labels):
        self.send(name, **labels)
        return self.receive()

    def close(self):
        self.requests.put(None)
        self.channel.close()


def value(server):
    with grpc.insecure_channel(server.address) as channel:
        client = FirestoreClient(transport=FirestoreGrpcTransport(channel=channel))
        document = client.get_document(request={"name": COUNTER})
        return document.fields["n"].integer_value


def test_batches_sent_again_after_a_kill_count_once(start_server, tmp_path):
    """Increments are sent without waiting; the server is killed; all of them are sent again."""
    expected = 0
    for round in range(5):
        server = start_server("--data", str(tmp_path))
        stream = WriteStream(server)
        names = [f"{round}-{number}" for number in range(300)]
        for name in names:
            stream.send(name)
        # Some are answered, some are made and not answered, some have not arrived.
        answers = [stream.receive() for _ in range(20 + 50 * round)]
        server.kill()
        stream.close()
        server = start_server("--data", str(tmp_path))
        expected += len(names)
        for attempt in range(2):
            stream = WriteStream(server)
            again = [stream.ask(name) for name in names]
            assert again[:len(answers)] == answers
            assert [count for _, count in again] == list(range(expected - 299, expected + 1))
            assert value(server) == expected
            stream.close()
        server.kill()


def test_a_batch_that_was_answered_is_forgotten(start_server):
    server = start_server("--memory")
    stream = WriteStream(server)
    assert stream.id == "larder-once-1"
    assert [stream.ask("1")[1] for _ in range(2)] == [1, 1]
    assert stream.ask("2", **{"larder-answered": "1"})[1] == 2
    assert stream.ask("1")[1] == 3
    # Without a name, and with labels of others.
    assert [stream.ask()[1], stream.ask(purpose="test")[1]] == [4, 5]
    stream.close()
    for labels in [{"larder-client": "a/b", "larder-write": "1"},
                   {"larder-client": "a", "larder-write": "x" * 65},
                   {"larder-client": "a", "larder-write": "1", "larder-answered": "é"}]:
        stream = WriteStream(server)
        with pytest.raises(exceptions.InvalidArgument):
            stream.ask(**labels)
        stream.close()
    assert value(server) == 5
