import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@Suite("Pinned snapshots")
struct PinnedSnapshotTests {
    private let store: Store
    private let path: DocumentPath

    init() throws {
        store = try Store(.inMemory())
        path = try DocumentPath("cities/SF")
        try put(1)
    }

    private func put(_ number: Int64) throws {
        try store.write { transaction in
            try transaction.put(Record(["n": .integer(number)]), at: path, version: .at(number))
        }
    }

    private func number(in snapshot: PinnedSnapshot) throws(LarderError) -> Value? {
        try snapshot.read { (transaction) throws(LarderError) in
            try transaction.document(at: path)?.fields["n"]
        }
    }

    @Test("A pinned commit is read again and again until it is ended")
    func reads() throws {
        let snapshot = try store.pinSnapshot()
        try put(2)
        #expect(try number(in: snapshot) == 1)
        try put(3)
        #expect(try number(in: snapshot) == 1)
        #expect(throws: LarderError.self) { try store.close() }
        snapshot.end()
        snapshot.end()
        let error = #expect(throws: LarderError.self) { _ = try number(in: snapshot) }
        #expect(error?.condition == .transactionEnded)
        try store.close()
    }

    @Test("An end does not wait for a read that is under way, which goes on")
    func endWhileReading() throws {
        let snapshot = try store.pinSnapshot()
        try put(2)
        let closed = Mutex(false)
        let found = try snapshot.read { (transaction) throws(LarderError) -> Value? in
            let ended = DispatchSemaphore(value: 0)
            Thread {
                snapshot.end()
                ended.signal()
            }.start()
            #expect(ended.wait(timeout: .now() + .seconds(60)) == .success)
            store.closeWhenIdle { result in
                #expect(throws: Never.self) { try result.get() }
                closed.withLock { $0 = true }
            }
            #expect(!closed.withLock { $0 })
            return try transaction.document(at: path)?.fields["n"]
        }
        #expect(found == 1)
        #expect(closed.withLock { $0 })
        #expect(throws: LarderError.self) { _ = try number(in: snapshot) }
    }
}
