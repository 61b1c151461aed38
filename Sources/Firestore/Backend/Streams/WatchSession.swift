package import LarderCore
import LarderModel
package import LarderRemote

/// The limit of what a watch stream prepares for a client that takes nothing.
package struct WatchFlow: Sendable {
    /// The bytes of responses that the client has not taken.
    package let bytesAhead: Int
    /// Is charged for changes that are not sent.
    package let memory: MemoryAccount

    /// - Parameters:
    ///   - bytesAhead: the bytes of responses that the client has not taken.
    ///   - memory: is charged for changes that are not sent.
    package init(bytesAhead: Int, memory: MemoryAccount) {
        self.bytesAhead = bytesAhead
        self.memory = memory
    }
}

/// The backend's side of a watch stream; used only by ``BackendCore``.
final class WatchSession {
    /// A target of the stream.
    struct Target {
        /// The queries: one, or one for each of several documents.
        var queries: [WatchedQuery] = []
        /// The client's document count; nil if the target was not resumed.
        var expectedCount: Int?
        /// The number of documents reported as members since it was resumed.
        var joinedCount = 0
        /// The number of documents reported as non-members since it was resumed.
        var leftCount = 0
    }

    let id: StreamID
    /// The rules check of the stream's user.
    let rulesCheck: RulesCheck
    var targets: [Int32: Target] = [:]
    /// The outgoing messages.
    var outbox = WatchOutbox()
    /// The number of responses that the client accepts.
    private(set) var demand = 0
    /// The bytes of responses that the client accepts; one may exceed them.
    private(set) var room: Int
    /// Is charged for what the stream holds; nil for no limit.
    let memory: MemoryAccount?
    private var chargedBytes = 0

    private let handler: @Sendable (WatchEvent) -> Void

    init(
        _ id: StreamID, _ rulesCheck: RulesCheck, _ flow: WatchFlow? = nil,
        _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) {
        room = flow?.bytesAhead ?? .max
        memory = flow?.memory
        self.id = id
        self.rulesCheck = rulesCheck
        self.handler = handler
    }

    /// True if the client accepts a response.
    var hasDemand: Bool { demand > 0 && room > 0 }

    /// True if no memory is left for responses.
    var isStarved: Bool { memory?.isExhausted ?? false }

    func add(demand count: Int, bytes: Int = 0) {
        demand = min(max(count, 0), .max - demand) + demand
        if memory != nil { room += bytes }
    }

    /// Charges the account for what is not sent.
    func settleMemory() {
        guard let memory else { return }
        let bytes = outbox.heldBytes
        memory.change(by: bytes - chargedBytes)
        chargedBytes = bytes
    }

    /// Reports the stream as open.
    func open() {
        handler(.opened)
    }

    /// Sends a response, which consumes demand.
    func say(_ response: WatchResponse) {
        demand -= 1
        if let memory {
            room -= response.sizeBytes
            memory.change(by: response.sizeBytes)
        }
        handler(.response(response))
    }

    func tell(_ effect: WatchEffect, to targetID: Int32) {
        outbox.tell(effect, to: targetID)
        if targets[targetID]?.expectedCount != nil, !outbox.isCurrent(targetID) {
            count(isMember: effect.isMember, in: targetID)
        }
    }

    /// Counts a document reported for a resumed target.
    func count(isMember: Bool, in targetID: Int32) {
        if isMember {
            targets[targetID]?.joinedCount += 1
        } else {
            targets[targetID]?.leftCount += 1
        }
    }

    /// Reports the stream as closed.
    func close(_ error: LarderError?) {
        handler(.closed(error))
    }

    /// The response for a change.
    ///
    /// - Parameters:
    ///   - version: the commit of the document.
    ///   - floor: the version below which no document is served.
    func response(
        to change: PendingChanges.Change, _ version: SnapshotVersion, above floor: SnapshotVersion
    ) -> WatchResponse {
        guard let document = change.document, document.exists else {
            let reading = DocumentReading(path: change.path, contents: .absent, version: version)
            return .document(reading, targetIDs: [], removedTargetIDs: change.left)
        }
        // A document outside of all targets is not revealed unless the client may read it.
        if change.joined.isEmpty, !(change.isChanged && mayRead(document)) {
            return .removed(change.path, removedTargetIDs: change.left)
        }
        return .document(
            DocumentReading(found: document.served(above: floor)), targetIDs: change.joined,
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

    /// Rejects a target in order with other requests: it is reported as added and then removed with
    /// the error, after which its ID is free.
    package func refuse(targetID: Int32, _ error: LarderError) {
        handle.perform { $0.refuse(targetID, error, onWatchStream: $1) }
    }

    package func demand(_ count: Int) {
        demand(count, bytes: 0)
    }

    /// Accepts further responses of a stream with a ``WatchFlow``, by their number and bytes.
    package func demand(_ count: Int, bytes: Int) {
        handle.perform { $0.addDemand(count, bytes: bytes, onWatchStream: $1) }
    }

    package func close() {
        handle.close { $0.endWatchStream($1) }
    }
}
