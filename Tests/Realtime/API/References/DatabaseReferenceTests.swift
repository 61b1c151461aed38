import Foundation
import LarderRealtime
import LarderRealtimeSync
import LarderSharedTestSupport
import Testing

@Suite("References")
struct DatabaseReferenceTests {
    @Test("Paths are taken apart and put together")
    func paths() throws {
        let root = try DatabaseUnderTest().database.reference()
        let ada = root.child("/users//ada/")
        #expect(ada.key == "ada" && ada.parent?.key == "users" && root.key == nil)
        #expect(root.parent == nil && ada.root == root)
        #expect(ada == root.child("users").child("ada"))
        #expect(ada != root.child("users/grace"))
        #expect(ada.ref == ada && ada.queryOrderedByKey().ref == ada)
        #expect(ada.queryOrderedByKey() != ada.queryOrderedByValue())
        #expect(ada.queryOrderedByKey() == ada.queryOrderedByKey())
    }

    @Test("URLs are percent-encoded, and read back")
    func urls() throws {
        let test = try DatabaseUnderTest { $0.url = "https://game.firebaseio.com" }
        let place = test.database.reference(withPath: "a b/ü-1_~")
        #expect(place.url == "https://game.firebaseio.com/a%20b/%C3%BC-1_~")
        #expect(place.description() == place.url && "\(place)" == place.url)
        #expect(test.database.reference(fromURL: place.url) == place)
        #expect(
            test.database.reference(fromURL: "https://game.firebaseio.com/a+b")
                == test.database.reference(withPath: "a b"))
        #expect(test.database.reference().url == "https://game.firebaseio.com")
    }

    @Test("New keys ascend")
    func pushIDs() throws {
        let test = try DatabaseUnderTest()
        let keys = (0..<100).compactMap { _ in test.database.reference().childByAutoId().key }
        #expect(keys.count == 100 && keys == keys.sorted() && keys.allSatisfy { $0.count == 20 })
    }

    @Test("Invalid paths fail every operation, and none of them traps")
    func invalidPaths() async throws {
        let test = try DatabaseUnderTest()
        let long = String(repeating: "x", count: 800)
        let deep = Array(repeating: "a", count: 40).joined(separator: "/")
        for path in ["a.b", "a#b", "a$b", "a[b", "a]b", "a\u{7}b", long, deep] {
            let reference = test.database.reference(withPath: path)
            #expect(reference.key == nil && reference.child("x").key == nil)
            reference.setValue(1, withCompletionBlock: test.completion("set"))
            reference.removeValue(completionBlock: test.completion("remove"))
            reference.updateChildValues(["a": 1], withCompletionBlock: test.completion("update"))
            reference.onDisconnectSetValue(1, withCompletionBlock: test.completion("arm"))
            reference.runTransactionBlock(
                { .success(withValue: $0) },
                andCompletionBlock: { error, isCommitted, snapshot in
                    #expect((error as? DatabaseError)?.kind == .invalidArgument)
                    #expect(!isCommitted && snapshot == nil)
                })
            test.observe(reference, [.value])
            reference.removeAllObservers()
            reference.keepSynced(true)
            let expected = [
                "set failed 9999", "remove failed 9999", "update failed 9999", "arm failed 9999",
                "cancelled 9999",
            ]
            #expect(test.read().sorted() == expected.sorted())
        }
    }

    @Test("Data of the client cannot be written")
    func info() throws {
        let test = try DatabaseUnderTest()
        let info = test.database.reference(withPath: ".info/connected")
        info.setValue(true, withCompletionBlock: test.completion("set"))
        info.runTransactionBlock(
            { .success(withValue: $0) },
            andCompletionBlock: { error, _, _ in test.note("\(error != nil)") })
        test.observe(info, [.value])
        #expect(test.read() == ["set failed 9999", "true", "value false"])
    }
}

@Suite("Queries")
struct DatabaseQueryTests {
    @Test("A misuse of a query cancels its observers instead of trapping")
    func misuse() throws {
        let test = try DatabaseUnderTest()
        let scores = test.database.reference(withPath: "scores")
        let queries = [
            scores.queryOrderedByKey().queryOrderedByValue(),
            scores.queryLimited(toFirst: 0), scores.queryLimited(toLast: .max),
            scores.queryLimited(toFirst: 1).queryLimited(toLast: 1),
            scores.queryOrderedByKey().queryStarting(atValue: 1),
            scores.queryOrderedByKey().queryEqual(toValue: "a", childKey: "b"),
            scores.queryStarting(atValue: 1).queryStarting(afterValue: 2),
            scores.queryEnding(atValue: 1).queryEqual(toValue: 2),
            scores.queryStarting(atValue: true), scores.queryOrdered(byChild: "$key"),
            scores.queryOrdered(byChild: ""), scores.queryOrdered(byChild: "a.b"),
            scores.queryOrderedByValue().queryEqual(toValue: [1]),
            scores.queryOrderedByValue().queryEqual(toValue: Date()),
            scores.queryOrderedByValue().queryStarting(atValue: Double.nan),
        ]
        for query in queries { test.observe(query, [.value]) }
        #expect(test.read() == queries.map { _ in "cancelled 9999" })
    }

    @Test("Orders, bounds and limits select children, in order")
    func selection() throws {
        let test = try DatabaseUnderTest()
        let scores = test.database.reference(withPath: "scores")
        scores.setValue(["a": 5, "b": 1, "c": 3, "d": 4, "e": 2])
        func keys(_ query: DatabaseQuery) -> [String] {
            var keys: [String] = []
            query.observeSingleEvent(of: .value) { snapshot in
                for case let child as DataSnapshot in snapshot.children { keys.append(child.key) }
            }
            test.drain()
            return keys
        }
        let byValue = scores.queryOrderedByValue()
        #expect(keys(byValue) == ["b", "e", "c", "d", "a"])
        #expect(keys(byValue.queryLimited(toLast: 2)) == ["d", "a"])
        #expect(keys(byValue.queryLimited(toFirst: 2)) == ["b", "e"])
        #expect(keys(byValue.queryStarting(atValue: 3)) == ["c", "d", "a"])
        #expect(keys(byValue.queryStarting(afterValue: 3)) == ["d", "a"])
        #expect(keys(byValue.queryEnding(atValue: 2)) == ["b", "e"])
        #expect(keys(byValue.queryEnding(beforeValue: 2)) == ["b"])
        #expect(keys(byValue.queryEqual(toValue: 4)) == ["d"])
        #expect(keys(byValue.queryStarting(atValue: 2).queryLimited(toFirst: 2)) == ["e", "c"])
        #expect(keys(scores.queryOrderedByKey().queryStarting(atValue: "c")) == ["c", "d", "e"])
        #expect(keys(scores.queryOrderedByPriority().queryLimited(toFirst: 1)) == ["a"])
        #expect(keys(byValue.queryStarting(atValue: 3, childKey: "d")) == ["d", "a"])
    }
}
