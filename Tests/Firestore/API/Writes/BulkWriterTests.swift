import Foundation
import Larder
import LarderBackend
import LarderModel
import LarderTestSupport
import Testing

@Suite("Bulk writers")
struct BulkWriterTests {
    @Test("Writes are committed each by itself, and bypass the queue")
    func commits() async throws {
        let world = try World()
        try await world.set("cities/OLD", ["n": 1])
        let db = try world.database()
        let writer = db.bulkWriter()
        let cities = db.collection("cities")
        for number in 0..<50 {
            writer.setData(["n": number], forDocument: cities.document("c\(number)"))
        }
        let updated = writer.updateData(["n": 2], forDocument: cities.document("OLD"))
        let refused = writer.create(["n": 3], forDocument: cities.document("OLD"))
        let missing = writer.updateData(["n": 4], forDocument: cities.document("NONE"))
        let merged = writer.setData(
            ["m": 1], forDocument: cities.document("c1"), merge: true)
        let deleted = writer.deleteDocument(cities.document("c0"))
        await writer.flush()
        #expect(try await updated.result().writeTime != nil)
        #expect(await code { try await refused.result() } == .alreadyExists)
        #expect(await code { try await missing.result() } == .notFound)
        _ = try await merged.result()
        _ = try await deleted.result()
        // Of one document in the order of the calls.
        #expect(try world.fields("cities/c1") == ["n": 1, "m": 1])
        #expect(try world.fields("cities/c0") == nil)
        #expect(try world.fields("cities/OLD") == ["n": 2])
        #expect(try world.backend.documentCount() == 50)
        let progress = writer.progress
        #expect(progress.succeededCount == 53 && progress.failedCount == 2)
        #expect(progress.pendingCount == 0 && progress.retryCount == 0)
        #expect(try await db.pendingWrites().isEmpty && world.network.writtenBatchCount == 0)
        try await db.terminate()
    }

    @Test("Handlers receive results and errors, and decide on retries")
    func handlers() async throws {
        let world = try World()
        try await world.set("a/x", ["n": 1])
        let db = try world.database()
        let writer = db.bulkWriter()
        let (results, failures) = (Recorder<String>(), Recorder<String>())
        writer.onWriteResult { document, result in
            results.record("\(document.path) \(result.writeTime != nil)")
        }
        writer.onWriteError { failure in
            failures.record("\(failure.document.path) \(failure.failedAttempts)")
            #expect(failure.error.code == LarderError.Code.alreadyExists.rawValue)
            return failure.failedAttempts < 2
        }
        writer.create(["n": 2], forDocument: db.document("a/x"))
        writer.create(["n": 2], forDocument: db.document("a/y"))
        await writer.close()
        #expect(results.elements == ["a/y true"])
        #expect(failures.elements == ["a/x 1", "a/x 2"])
        #expect(writer.progress.retryCount == 1)
        try await db.terminate()
    }

    @Test("A write that cannot be sent fails alone: invalid data, another database, after the end")
    func refused() async throws {
        let world = try World()
        let (db, other) = (try world.database(), try world.database())
        let writer = db.bulkWriter()
        let failures = Recorder<Int>()
        let invalid = writer.setData(["a": db], forDocument: db.document("a/x"))
        #expect(await code { try await invalid.result() } == .invalidArgument)
        let foreign = writer.deleteDocument(other.document("a/x"))
        #expect(await code { try await foreign.result() } == .invalidArgument)
        let valid = writer.setData(["a": 1], forDocument: db.document("a/x"))
        await writer.close()
        #expect(await code { try await valid.result() } == nil)
        writer.onWriteError { failure in
            failures.record(failure.failedAttempts)
            return true
        }
        let late = writer.setData(["a": 2], forDocument: db.document("a/x"))
        #expect(await code { try await late.result() } == .failedPrecondition)
        #expect(failures.elements == [0] && writer.progress.failedCount == 3)
        #expect(try world.fields("a/x") == ["a": 1])
        for db in [db, other] { try await db.terminate() }
        let terminated = db.bulkWriter().deleteDocument(db.document("a/x"))
        #expect(await code { try await terminated.result() } == .failedPrecondition)
    }

    @Test("Without a backend, writes fail")
    func local() async throws {
        let db = try memoryDatabase()
        let write = db.bulkWriter().setData(["a": 1], forDocument: db.document("a/x"))
        #expect(await code { try await write.result() } == .failedPrecondition)
        try await db.terminate()
    }

    @Test("The rules refuse single writes")
    func rules() async throws {
        let world = try World(rules: { request in
            if case .create(let path) = request.operation, path.id == "no" {
                return .deny(reason: "it is not allowed")
            }
            return .allow
        })
        let db = try world.database()
        let writer = db.bulkWriter()
        let (no, yes) = (
            writer.setData(["a": 1], forDocument: db.document("a/no")),
            writer.setData(["a": 1], forDocument: db.document("a/yes"))
        )
        await writer.flush()
        #expect(await code { try await no.result() } == .permissionDenied)
        #expect(await code { try await yes.result() } == nil)
        try await db.terminate()
    }
}
