import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Bundles that fail while a client loads them")
struct FailedBundleTests {
    /// A bundle that comes in one piece.
    private final class Pieces: BundleSource {
        private let pieces: Mutex<[[UInt8]]>

        init(_ bytes: [UInt8]) { pieces = Mutex([bytes]) }

        func read(_ completion: @escaping @Sendable (Result<[UInt8], LarderError>) -> Void) {
            let piece = pieces.withLock { $0.isEmpty ? [] : $0.removeFirst() }
            completion(.success(piece))
        }
    }

    @Test("Listeners receive documents that were cached before the error")
    func listeners() throws {
        let (scheduler, calls) = (ManualScheduler(), Counter())
        var configuration = ClientConfiguration(
            storage: .inMemory(), databaseID: BundleText.database)
        configuration.scheduler = scheduler
        configuration.guarding = { (operation) throws(LarderError) in
            guard operation == .loadBundle, calls.next() > 1 else { return }
            throw LarderError(.unavailable, "the disk is full", condition: .io)
        }
        let client = try Client(configuration)
        let heard = Mutex<[String]>([])
        let registration = client.listen(to: try .all("c"), options: ListenOptions()) { result in
            heard.withLock { $0 = (try? result.get())?.documents.map(\.id) ?? [] }
        }
        scheduler.drain()
        var text = BundleText()
        text.add("c/x", ["n": 1], at: 3)
        let failure = Mutex<LarderError?>(nil)
        client.loadBundle(from: Pieces(text.bytes()), progress: { _ in }) { result in
            if case .failure(let error) = result { failure.withLock { $0 = error } }
        }
        scheduler.drain()
        #expect(failure.withLock { $0?.kind } == .unavailable)
        #expect(heard.withLock { $0 } == ["x"])
        registration.remove()
        client.terminate { _ in }
        scheduler.drain()
    }

    /// Counts calls.
    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }
}
