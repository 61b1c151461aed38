import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Synchronization
import Testing

/// A client's connection to any remote, whose events a test waits for as short texts.
final class LawClient: Sendable {
    private let connection: any RealtimeConnection
    private let events = Awaited<[String]>([])
    private let lastNumber = Atomic<Int>(0)
    /// What identifies the names of writes that the server keeps; nil for none.
    let namesID: String?

    /// Connects, and waits for the server's greeting.
    init(_ remote: any RealtimeRemote, lastSession: String? = nil) async {
        let (events, namesID) = (events, Box<String?>(nil))
        connection = remote.connect(ConnectRequest(lastSessionID: lastSession)) { event in
            if let id = event.namesID { namesID.withLock { $0 = id } }
            events.change { $0.append(event.text) }
        }
        await events.wait { !$0.isEmpty }
        self.namesID = namesID.withLock { $0 }
    }

    /// The name of the session; nil if the server has not greeted the client.
    var session: String? {
        events.value.first.flatMap {
            $0.hasPrefix("hello ") ? String($0.dropFirst(6)) : nil
        }
    }

    /// Sends a request, and waits for its answer.
    ///
    /// - Returns: the events since the previous request, whose number is left out of the answer; up
    ///   to the end of the connection if that comes first.
    @discardableResult
    func send(_ request: RealtimeRequest) async -> [String] {
        let before = events.value.count
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        connection.send(request, number: number)
        await events.wait {
            $0.contains { $0.hasPrefix("\(number) ") || $0.hasPrefix(Self.end) }
        }
        return events.value[before...].map {
            $0.hasPrefix("\(number) ") ? String($0.drop { $0 != " " }.dropFirst()) : $0
        }
    }

    /// Waits for an event after the greeting, which has to come before the connection ends.
    func wait(for event: String) async {
        await events.wait { $0.contains { $0 == event || $0.hasPrefix(Self.end) } }
        #expect(all.contains(event))
    }

    /// How the event of the end begins, whatever its reason.
    private static let end = "closed"

    /// All events.
    var all: [String] { events.value }

    func close() {
        connection.close()
    }

    // MARK: Requests

    @discardableResult
    func put(_ path: String, _ text: String, hash: String? = nil) async throws -> [String] {
        await send(.put(TreePath(path), try Node(parsing: text), hash: hash))
    }

    @discardableResult
    func listen(
        _ path: String, hash: String = "", compoundHash: CompoundHash? = nil
    ) async -> [String] {
        await send(
            .listen(QuerySpec(TreePath(path)), tag: nil, hash: hash, compoundHash: compoundHash))
    }

    @discardableResult
    func listen(
        _ path: String, tag: Int, _ build: (QueryBuilder) throws -> QueryBuilder
    ) async throws -> [String] {
        let query = QuerySpec(TreePath(path), try build(QueryBuilder()).parameters)
        return await send(.listen(query, tag: tag, hash: "", compoundHash: nil))
    }

    func get(_ path: String) async -> [String] {
        await send(.get(QuerySpec(TreePath(path))))
    }
}
