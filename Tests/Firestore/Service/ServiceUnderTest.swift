import LarderBackend
import LarderModel
import LarderRemote
import LarderWire
import Logging
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

extension PagedResponse {
    /// The next page.
    func page() async throws -> ResponsePage {
        let result = await withCheckedContinuation { continuation in
            next(for: nil) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// The messages of all pages.
    func messages() async throws -> [[UInt8]] {
        var messages: [[UInt8]] = []
        while true {
            let page = try await page()
            messages += page.messages
            if page.isLast { return messages }
        }
    }
}
