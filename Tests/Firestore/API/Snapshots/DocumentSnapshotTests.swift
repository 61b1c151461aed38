import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("Snapshots: values, server timestamps, equality")
struct DocumentSnapshotTests {
    @Test("Values cast as on Apple's platforms")
    func values() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        document.enqueueSetData([
            "int": 7, "double": 1.5, "bool": true, "text": "é", "none": NSNull(), "date": date,
            "bytes": Data([1, 2]), "place": GeoPoint(latitude: 1, longitude: 2),
            "vector": FieldValue.vector([1, 2]), "list": [1, "two", ["three": 3]],
            "map": ["a": ["b": 1]],
        ])
        let snapshot = try await document.getDocument()
        #expect(snapshot.get("int") as? Int == 7 && snapshot.get("int") as? Double == 7)
        #expect(snapshot.get("double") as? TimeInterval == 1.5)
        #expect(snapshot.get("bool") as? Bool == true && snapshot.get("none") is NSNull)
        #expect((snapshot.get("date") as? Timestamp)?.dateValue() == date)
        #expect(snapshot.get("bytes") as? Data == Data([1, 2]))
        #expect(snapshot.get("place") as? GeoPoint == GeoPoint(latitude: 1, longitude: 2))
        #expect((snapshot.get("vector") as? VectorValue)?.array == [1, 2])
        #expect((snapshot.get("list") as? [Any])?.count == 3)
        #expect(snapshot.get("map.a.b") as? Int == 1)
        #expect(snapshot.get(FieldPath(["map", "a", "b"])) as? Int == 1)
        #expect(snapshot.get(FieldPath.documentID()) as? DocumentReference == document)
        #expect(
            snapshot.get("map..b") == nil && snapshot.get(3) == nil && snapshot.get("no") == nil)
        #expect(snapshot.data()?.count == 11)
    }

    @Test("A pending server timestamp reads as null, an estimate or the value before")
    func serverTimestamps() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        document.enqueueSetData(["time": 1])
        document.enqueueUpdateData(["time": FieldValue.serverTimestamp()])
        let snapshot = try await document.getDocument()
        #expect(snapshot.get("time") is NSNull)
        #expect(snapshot.data()?["time"] is NSNull)
        #expect(snapshot.get("time", serverTimestampBehavior: .estimate) is Timestamp)
        #expect(snapshot.data(with: .estimate)?["time"] is Timestamp)
        #expect(snapshot.get("time", serverTimestampBehavior: .previous) as? Int == 1)
        let found = try await db.collection("a").getDocuments().documents[0]
        #expect(found.data(with: .previous)["time"] as? Int == 1)
        #expect(found.data()["time"] is NSNull)
    }

    @Test("Snapshots are equal by path, contents and metadata")
    func equality() async throws {
        let db = try memoryDatabase()
        for id in ["x", "y"] { db.document("a/\(id)").enqueueSetData(["n": 1]) }
        let (x, again) = (
            try await db.document("a/x").getDocument(), try await db.document("a/x").getDocument()
        )
        #expect(x == again && x.hashValue == again.hashValue)
        #expect(x != (try await db.document("a/y").getDocument()))
        let all = try await db.collection("a").getDocuments(source: .cache)
        #expect(all == (try await db.collection("a").getDocuments(source: .cache)))
        #expect(all.documents[0] == x)
        db.document("a/x").enqueueUpdateData(["n": 2])
        #expect(x != (try await db.document("a/x").getDocument()))
        #expect(all != (try await db.collection("a").getDocuments(source: .cache)))
        #expect(x.get("n") as? Int == 1, "a snapshot does not change")
        #expect(x.metadata == all.metadata)
    }

    @Test("Errors are NSErrors of Firestore's domain, and codes match in catch")
    func errors() async throws {
        let db = try memoryDatabase()
        do {
            _ = try await db.document("a/x").getDocument()
            Issue.record("nothing was thrown")
        } catch FirestoreErrorCode.notFound {
            Issue.record("another code")
        } catch FirestoreErrorCode.unavailable {
        }
        do {
            _ = try await db.document("a/x").getDocument()
        } catch let error as NSError {
            #expect(error.domain == "FIRFirestoreErrorDomain" && error.code == 14)
            #expect(FirestoreErrorCode.Code(rawValue: error.code) == .unavailable)
            #expect(!error.localizedDescription.isEmpty)
        }
        let own = FirestoreErrorCode(.aborted) as NSError
        #expect(
            own.domain == FirestoreErrorDomain && own.code == FirestoreErrorCode.aborted.rawValue)
        #expect(FirestoreErrorCode.Code.allCases.map(\.rawValue) == Array(0...16))
    }
}
