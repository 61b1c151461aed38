import Foundation
import LarderRealtime
import LarderSharedTestSupport
import Testing

@Suite("Snapshots")
struct DataSnapshotTests {
    private func snapshot(
        _ value: Any?, priority: Any? = nil, of query: (DatabaseReference) -> DatabaseQuery = { $0 }
    ) throws -> DataSnapshot {
        let test = try DatabaseUnderTest()
        let place = test.database.reference(withPath: "place")
        place.setValue(value, andPriority: priority)
        var result: DataSnapshot?
        query(place).observeSingleEvent(of: .value) { result = $0 }
        test.drain()
        return try #require(result)
    }

    @Test("Values are Foundation's; priorities show in the export format")
    func values() throws {
        let data = try snapshot(
            ["a": ["b": 1, ".priority": "p"] as [String: Any], "t": true], priority: 2)
        #expect(json(data.value) == #"{"a":{"b":1},"t":true}"#)
        #expect(
            json(data.valueInExportFormat())
                == #"{".priority":2,"a":{".priority":"p","b":1},"t":true}"#)
        #expect(data.priority as? Int == 2)
        #expect(data.key == "place" && data.ref.key == "place" && data.exists())
        #expect(data.hasChildren() && data.childrenCount == 2)
        #expect(data.hasChild("a/b") && !data.hasChild("a/c") && !data.hasChild("a.b"))
        let child = data.childSnapshot(forPath: "a")
        #expect(child.priority as? String == "p" && child.ref == data.ref.child("a"))
        #expect(!data.childSnapshot(forPath: "x.y").exists())
        #expect("\(child)" == #"Snap (a) {"b":1}"#)
    }

    @Test("No data is NSNull")
    func empty() throws {
        let data = try snapshot(nil)
        #expect(data.value is NSNull && !data.exists() && data.priority == nil)
        #expect(data.childrenCount == 0 && data.children.nextObject() == nil)
    }

    @Test("Consecutive numbers are an array, with gaps")
    func arrays() throws {
        #expect(json(try snapshot(["a", "b"]).value) == #"["a","b"]"#)
        #expect(json(try snapshot(["0": "a", "2": "b"]).value) == #"["a",null,"b"]"#)
        #expect(json(try snapshot(["0": "a", "9": "b"]).value) == #"{"0":"a","9":"b"}"#)
    }

    @Test("Children are in the order of the query, theirs by priority")
    func children() throws {
        let data = try snapshot([
            "a": 2, "b": 1, "c": ["x": 1, "y": [".value": 2, ".priority": -1]],
        ]) { $0.queryOrderedByValue() }
        #expect(data.childSnapshots.map(\.key) == ["b", "a", "c"])
        let keys = data.children.allObjects.compactMap { ($0 as? DataSnapshot)?.key }
        #expect(keys == ["b", "a", "c"])
        let inner = data.childSnapshot(forPath: "c")
        #expect(inner.childSnapshots.map(\.key) == ["x", "y"])
    }
}

@Suite("Data of transactions")
struct MutableDataTests {
    /// The result of a transaction on some data, offline.
    private func result(
        _ value: Any?, _ block: @escaping (MutableData) -> TransactionResult
    ) throws -> String {
        let test = try DatabaseUnderTest()
        let place = test.database.reference(withPath: "place")
        place.setValue(value)
        place.runTransactionBlock(
            block, andCompletionBlock: { error, _, _ in test.note("failed \(error != nil)") })
        test.observe(place, [.value])
        return test.read().last ?? ""
    }

    @Test("Parts change the whole")
    func parts() throws {
        let text = try result(["a": 1, "b": ["c": 2]]) { data in
            #expect(data.key == "place" && data.childrenCount == 2 && data.hasChildren())
            #expect(data.hasChild(atPath: "b/c"))
            let part = data.childData(byAppendingPath: "b")
            #expect(part.key == "b" && part.childData(byAppendingPath: "c").value as? Int == 2)
            part.childData(byAppendingPath: "c").value = 3
            part.childData(byAppendingPath: "new/deep").value = true
            part.priority = 5
            for case let child as MutableData in data.children where child.key == "a" {
                child.value = nil
            }
            return .success(withValue: data)
        }
        #expect(text == #"value {"b":{".priority":5,"c":3,"new":{"deep":true}}}"#)
    }

    @Test("Invalid values and paths fail the transaction")
    func problems() throws {
        for change: (MutableData) -> Void in [
            { $0.value = Date() }, { $0.value = ["a.b": 1] }, { $0.priority = true },
            { $0.childData(byAppendingPath: "a#b").value = 1 },
        ] {
            let text = try result(1) { data in
                change(data)
                return .success(withValue: data)
            }
            #expect(text == "value 1" || text == "failed true")
        }
    }

    @Test("An abort writes nothing")
    func abort() throws {
        let text = try result(1) { _ in .abort() }
        #expect(text == "value 1")
    }
}
