import GRPCCore
import LarderBackend
import LarderModel
import LarderRemote
import LarderWire
import Logging
import Synchronization
import Tracing

@testable import LarderServer

/// A service over databases in memory, without sockets.
struct ServiceUnderTest {
    let service: FirestoreService
    let databases: Databases
    let root = "projects/p/databases/(default)/documents"

    init(
        tracer: (any Tracer)? = nil,
        _ configure: (inout ServerConfiguration.Limits) -> Void = { _ in },
        rules: @escaping Backend.Rules = { _ in .allow }
    ) {
        var configuration = ServerConfiguration(storage: .memory)
        configure(&configuration.limits)
        databases = Databases(
            .memory, limit: configuration.limits.databases, rules: { _ in rules })
        service = FirestoreService(
            configuration, databases,
            CallMonitor(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, tracer: tracer))
    }

    /// Makes documents of a collection with a number in each.
    func fill(_ collection: String, _ numbers: Range<Int>) async throws {
        let database = try await service.database(root)
        var mutations: [Mutation] = []
        for number in numbers {
            let id = String(repeating: "0", count: 4 - "\(number)".count) + "\(number)"
            mutations.append(
                Mutation(
                    .set(try Record(["n": .integer(Int64(number))])),
                    at: try DocumentPath("\(collection)/\(id)")))
        }
        _ = try await database.commit(mutations)
    }
}

/// Keeps the messages of a call.
final class Written<Element: Sendable>: RPCWriterProtocol {
    private let elements = Mutex<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }

    func write(_ element: Element) async throws { elements.withLock { $0.append(element) } }

    func write(contentsOf elements: some Sequence<Element>) async throws {
        self.elements.withLock { $0 += elements }
    }
}

/// Discards messages.
struct Nowhere<Element: Sendable>: RPCWriterProtocol {
    func write(_ element: Element) async throws {}
    func write(contentsOf elements: some Sequence<Element>) async throws {}
}
