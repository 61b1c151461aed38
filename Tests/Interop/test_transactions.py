"""Transactions: what they see, what they leave, and what contention does."""

import concurrent.futures
import threading

import pytest
from google.api_core import exceptions
from google.cloud import firestore

THREADS = 8
ROUNDS = 10
SECONDS = 120


def test_a_transaction_reads_and_writes(client, collection):
    document = collection.document("a")
    document.set({"n": 1})

    @firestore.transactional
    def work(transaction):
        number = document.get(transaction=transaction).get("n")
        transaction.update(document, {"n": number + 1})
        return number

    assert work(client.transaction()) == 1
    assert document.get().get("n") == 2


def test_a_transaction_that_fails_leaves_nothing(client, collection):
    document = collection.document("a")

    @firestore.transactional
    def work(transaction):
        transaction.set(document, {"n": 1})
        raise ValueError("on purpose")

    with pytest.raises(ValueError):
        work(client.transaction())
    assert not document.get().exists


def test_a_transaction_of_reads_alone(client, collection):
    collection.document("a").set({"n": 1})

    @firestore.transactional
    def work(transaction):
        return [s.get("n") for s in collection.stream(transaction=transaction)]

    assert work(client.transaction(read_only=True)) == [1]


def test_a_read_only_transaction_cannot_write(raw, database, root, collection):
    begun = raw.begin_transaction(
        {"database": database, "options": {"read_only": {}}})
    with pytest.raises(exceptions.InvalidArgument):
        raw.commit({
            "database": database, "transaction": begun.transaction,
            "writes": [{"update": {"name": f"{root}/{collection.id}/a"}}]})


def begin(raw, database, *names):
    """A transaction that has read documents."""
    begun = raw.begin_transaction({"database": database})
    found = list(raw.batch_get_documents({
        "database": database, "documents": names, "transaction": begun.transaction}))
    assert len(found) == len(names)
    return begun.transaction


def put(raw, database, name, number, transaction=None):
    return raw.commit({
        "database": database, "transaction": transaction,
        "writes": [{"update": {"name": name, "fields": {"n": {"integer_value": number}}}}]})


def test_a_write_waits_for_a_transaction(raw, client, database, collection):
    document = collection.document("a")
    document.set({"n": 1})
    name = document._document_path
    transaction = begin(raw, database, name)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        outside = pool.submit(document.set, {"n": 2})
        # Reads outside of a transaction wait for nobody.
        assert document.get().get("n") == 1
        put(raw, database, name, 3, transaction)
        outside.result(SECONDS)
    assert document.get().get("n") == 2


def test_a_transaction_that_lets_others_wait_is_aborted(raw, client, database, collection):
    document = collection.document("a")
    document.set({"n": 1})
    name = document._document_path
    transaction = begin(raw, database, name)
    document.set({"n": 2})
    with pytest.raises(exceptions.Aborted):
        put(raw, database, name, 3, transaction)
    assert document.get().get("n") == 2


def test_one_of_two_that_conflict_succeeds(raw, client, database, collection):
    document = collection.document("a")
    document.set({"n": 1})
    name = document._document_path
    both = [begin(raw, database, name) for _ in range(2)]

    def work(transaction):
        try:
            put(raw, database, name, 2, transaction)
            return True
        except exceptions.Aborted:
            return False

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(work, both)) == [False, True]


def test_what_a_query_found_is_guarded_too(raw, database, root, collection):
    collection.document("a").set({"n": 1})
    begun = raw.begin_transaction({"database": database})
    query = {"from_": [{"collection_id": collection.id}]}
    list(raw.run_query({
        "parent": root, "structured_query": query, "transaction": begun.transaction}))
    collection.document("b").set({"n": 2})
    with pytest.raises(exceptions.Aborted):
        raw.commit({
            "database": database, "transaction": begun.transaction,
            "writes": [{"update": {"name": f"{root}/{collection.id}/c"}}]})


def test_a_transaction_ends_once(raw, database):
    begun = raw.begin_transaction({"database": database})
    raw.rollback({"database": database, "transaction": begun.transaction})
    with pytest.raises(exceptions.InvalidArgument):
        raw.commit({"database": database, "transaction": begun.transaction})
    # Clients roll back after whatever went wrong.
    raw.rollback({"database": database, "transaction": begun.transaction})
    with pytest.raises(exceptions.InvalidArgument):
        raw.rollback({"database": database, "transaction": b"nonsense!"})


def test_attempts_end(client, collection):
    """A transaction that is always overtaken ends with the client library's own error."""
    document = collection.document("a")
    document.set({"n": 1})

    @firestore.transactional
    def work(transaction):
        list(collection.stream(transaction=transaction))
        # Does not wait: it has not been read.
        collection.add({"n": 1})
        transaction.update(document, {"m": 1})

    with pytest.raises(ValueError, match="Failed to commit transaction in 2 attempts"):
        work(client.transaction(max_attempts=2))
    assert document.get().to_dict() == {"n": 1}
    assert len(list(collection.stream())) == 3


def test_workers_under_contention(client, collection):
    """Eight threads take jobs that a query finds: each job is taken once."""
    for number in range(THREADS * 4):
        collection.document(f"j{number}").set({"free": True, "number": number})
    jobs = collection.where(filter=firestore.FieldFilter("free", "==", True)) \
        .order_by("number").limit(1)

    def work(_):
        taken = []
        for _ in range(4):
            @firestore.transactional
            def take(transaction):
                job = list(jobs.stream(transaction=transaction))[0]
                transaction.update(job.reference, {"free": False})
                return job.id

            taken.append(take(client.transaction()))
        return taken

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        taken = [job for jobs in pool.map(work, range(THREADS)) for job in jobs]
    assert len(set(taken)) == THREADS * 4


def test_a_transaction_that_a_read_begins(raw, database, root, collection):
    collection.document("a").set({"n": 1})
    name = f"{root}/{collection.id}/a"
    answers = list(raw.batch_get_documents({
        "database": database, "documents": [name], "new_transaction": {"read_write": {}}}))
    assert answers[0].transaction and not answers[0].found.name
    raw.commit({
        "database": database, "transaction": answers[0].transaction,
        "writes": [{"delete": name}]})
    assert not collection.document("a").get().exists


def test_a_transaction_that_a_query_begins(raw, database, root, collection):
    answers = list(raw.run_query({
        "parent": root, "structured_query": {"from_": [{"collection_id": collection.id}]},
        "new_transaction": {"read_only": {}}}))
    assert answers[0].transaction
    raw.rollback({"database": database, "transaction": answers[0].transaction})


def test_a_figure_is_guarded_too(raw, database, root, collection):
    answer = list(raw.run_aggregation_query({
        "parent": root, "new_transaction": {"read_write": {}},
        "structured_aggregation_query": {
            "structured_query": {"from_": [{"collection_id": collection.id}]},
            "aggregations": [{"alias": "n", "count": {}}]}}))[0]
    assert answer.result.aggregate_fields["n"].integer_value == 0
    collection.document("a").set({})
    with pytest.raises(exceptions.Aborted):
        raw.commit({
            "database": database, "transaction": answer.transaction,
            "writes": [{"update": {"name": f"{root}/{collection.id}/b"}}]})


def test_counters_under_contention(client, collection):
    """Eight threads add to one counter in transactions: no addition is lost."""
    document = collection.document("counter")
    document.set({"n": 0})
    barrier = threading.Barrier(THREADS)

    def work():
        barrier.wait(SECONDS)
        for _ in range(ROUNDS):
            @firestore.transactional
            def add(transaction):
                number = document.get(transaction=transaction).get("n")
                transaction.update(document, {"n": number + 1})

            # As many attempts as the library makes: transactions wait in line.
            add(client.transaction())

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(work) for _ in range(THREADS)]:
            future.result(SECONDS)
    assert document.get().get("n") == THREADS * ROUNDS


def test_transfers_under_contention(client, collection):
    """Eight threads move money between accounts: the sum stays, and no balance is negative."""
    accounts = [collection.document(f"a{number}") for number in range(4)]
    for account in accounts:
        account.set({"money": 100})

    def work(seed):
        for step in range(ROUNDS):
            source, target = accounts[(seed + step) % 4], accounts[(seed * 3 + step + 1) % 4]
            if source == target:
                continue

            @firestore.transactional
            def move(transaction):
                has = source.get(transaction=transaction).get("money")
                gets = target.get(transaction=transaction).get("money")
                if has >= 30:
                    transaction.update(source, {"money": has - 30})
                    transaction.update(target, {"money": gets + 30})

            move(client.transaction())

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(work, seed) for seed in range(THREADS)]:
            future.result(SECONDS)
    money = [account.get().get("money") for account in accounts]
    assert sum(money) == 400
    assert min(money) >= 0


def test_increments_without_transactions(client, collection):
    document = collection.document("counter")

    def work():
        for _ in range(ROUNDS):
            document.set({"n": firestore.Increment(1)}, merge=True)

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(work) for _ in range(THREADS)]:
            future.result(SECONDS)
    assert document.get().get("n") == THREADS * ROUNDS
