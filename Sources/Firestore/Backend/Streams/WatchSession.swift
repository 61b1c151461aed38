package import LarderModel
package import LarderRemote

/// The backend's side of a watch stream; the backend's core alone uses it.
final class WatchSession {
    /// A target of the stream.
    struct Target {
        /// What is asked: one query, or several documents.
        var queries: [WatchedQuery] = []
        /// How many documents the client knows of it; nil where it was not resumed.
        var expectedCount: Int?
        /// Documents that were told to be in it since it was resumed.
        var joinedCount = 0
        /// Documents that were told not to be in it since it was resumed.
        var leftCount = 0
    }

    /// Its number among the streams.
    let id: StreamID
    /// Asks the rules for the stream's user.
    let rulesCheck: RulesCheck
    /// The targets by the client's numbers.
    var targets: [Int32: Target] = [:]
    /// What is still to be said.
    var outbox = WatchOutbox()
    /// How many responses the client takes.
    private(set) var demand = 0

    private let handler: @Sendable (WatchEvent) -> Void

    init(
        _ id: StreamID, _ rulesCheck: RulesCheck,
        _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) {
        self.id = id
        self.rulesCheck = rulesCheck
        self.handler = handler
    }

    /// Lets the client have more responses.
    func add(demand count: Int) {
        demand = min(max(count, 0), .max - demand) + demand
    }

    /// Tells the client that the stream is open.
    func open() {
        handler(.opened)
    }

    /// Says something that the client takes.
    func say(_ response: WatchResponse) {
        demand -= 1
        handler(.response(response))
    }

    /// Tells of something that has happened to a document in view of a target.
    func tell(_ effect: WatchEffect, to targetID: Int32) {
        outbox.tell(effect, to: targetID)
        if targets[targetID]?.expectedCount != nil, !outbox.isCurrent(targetID) {
            count(isMember: effect.isMember, in: targetID)
        }
    }

    /// Counts a document that a resumed target is told of.
    func count(isMember: Bool, in targetID: Int32) {
        if isMember {
            targets[targetID]?.joinedCount += 1
        } else {
            targets[targetID]?.leftCount += 1
        }
    }

    /// Tells the client that the stream has ended.
    func close(_ error: LarderError?) {
        handler(.closed(error))
    }

    /// What the client is told of a change.
    ///
    /// - Parameter version: the commit that the document is as of.
    func response(to change: PendingChanges.Change, _ version: SnapshotVersion) -> WatchResponse {
        guard let document = change.document, document.exists else {
            let reading = DocumentReading(path: change.path, contents: .absent, version: version)
            return .document(reading, targetIDs: [], removedTargetIDs: change.left)
        }
        // Out of all targets it is none of the client's business, unless it may read it.
        if change.joined.isEmpty, !(change.isChanged && mayRead(document)) {
            return .removed(change.path, removedTargetIDs: change.left)
        }
        return .document(
            DocumentReading(found: document), targetIDs: change.joined,
            removedTargetIDs: change.left)
    }

    private func mayRead(_ document: Document) -> Bool {
        (try? rulesCheck.require(.get(document.path), existing: document)) != nil
    }
}

/// A client's side of a watch stream.
package final class WatchConnection: WatchStream {
    private let handle: StreamHandle

    init(_ handle: StreamHandle) {
        self.handle = handle
    }

    deinit {
        close()
    }

    package func send(_ request: WatchRequest) {
        handle.perform { $0.receive(request, onWatchStream: $1) }
    }

    /// Answers a target that cannot even be asked for, in its place among the other requests: as
    /// added and then removed with the error, after which its number is free.
    package func refuse(targetID: Int32, _ error: LarderError) {
        handle.perform { $0.refuse(targetID, error, onWatchStream: $1) }
    }

    package func demand(_ count: Int) {
        handle.perform { $0.addDemand(count, onWatchStream: $1) }
    }

    package func close() {
        handle.close { $0.endWatchStream($1) }
    }
}

/// The moment up to which a watch stream has told everything, as bytes for a client to keep.
struct ResumeToken: Hashable {
    /// The backend that gave it: another one's times say nothing.
    let identity: UInt64
    /// The moment.
    let version: SnapshotVersion

    private static let format: UInt8 = 1
    private static let byteCount = 21

    /// A token of its parts.
    init(identity: UInt64, version: SnapshotVersion) {
        self.identity = identity
        self.version = version
    }

    /// Reads a token; nil for bytes that are none.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.format else { return nil }
        identity = Self.number(bytes[1..<9])
        let seconds = Int64(bitPattern: Self.number(bytes[9..<17]))
        let nanoseconds = Int32(truncatingIfNeeded: Self.number(bytes[17...]))
        guard
            let time = try? Timestamp(validatingSeconds: seconds, nanoseconds: nanoseconds)
        else { return nil }
        version = SnapshotVersion(time)
    }

    /// The token as bytes, big-endian.
    var bytes: [UInt8] {
        [Self.format] + Self.bytes(of: identity)
            + Self.bytes(of: UInt64(bitPattern: version.timestamp.seconds))
            + Self.bytes(of: UInt64(UInt32(bitPattern: version.timestamp.nanoseconds))).suffix(4)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(of number: UInt64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
