"""The asynchronous client."""

import asyncio

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter


def test_documents(async_client, collection):
    async def work():
        document = async_client.collection(collection.id).document("a")
        await document.set({"n": 1})
        await document.update({"n": firestore.Increment(1)})
        snapshot = await document.get()
        await document.delete()
        return snapshot.to_dict(), (await document.get()).exists

    assert asyncio.run(work()) == ({"n": 2}, False)


def test_queries(async_client, collection):
    async def work():
        things = async_client.collection(collection.id)
        batch = async_client.batch()
        for number in range(20):
            batch.set(things.document(f"d{number:02}"), {"n": number})
        await batch.commit()
        query = things.where(filter=FieldFilter("n", ">=", 15))
        found = [snapshot.get("n") async for snapshot in query.stream()]
        count = await query.count().get()
        return found, count[0][0].value

    assert asyncio.run(work()) == ([15, 16, 17, 18, 19], 5)


def test_many_at_a_time(async_client, collection):
    async def work():
        things = async_client.collection(collection.id)
        await asyncio.gather(*(things.document(f"d{n}").set({"n": n}) for n in range(200)))
        got = await asyncio.gather(*(things.document(f"d{n}").get() for n in range(200)))
        return [snapshot.get("n") for snapshot in got]

    assert asyncio.run(work()) == list(range(200))


def test_transactions(async_client, collection):
    async def work():
        document = async_client.collection(collection.id).document("a")
        await document.set({"n": 0})

        @firestore.async_transactional
        async def add(transaction):
            number = (await document.get(transaction=transaction)).get("n")
            transaction.update(document, {"n": number + 1})

        await asyncio.gather(*(
            add(async_client.transaction(max_attempts=100)) for _ in range(8)))
        return (await document.get()).get("n")

    assert asyncio.run(work()) == 8


def test_get_all_and_collections(async_client, collection):
    async def work():
        things = async_client.collection(collection.id)
        await things.document("a").collection("below").document("x").set({})
        found = [s.exists async for s in async_client.get_all(
            [things.document("a"), things.document("a/below/x")])]
        below = [c.id async for c in things.document("a").collections()]
        listed = [d.id async for d in things.list_documents()]
        return sorted(found), below, listed

    assert asyncio.run(work()) == ([False, True], ["below"], ["a"])
