package import LarderModel
package import LarderRemote

/// Commits each named write of a client once at a backend that does not keep names: every commit
/// also writes a marker document, which has the names of the client's last writes.
///
/// ```
/// closed -- open --> opening -- handshake --> reading -- marker --> writing --+
///                       |                                            |       | refused
///                       | the backend keeps names                    | made  v
///                       +--> forwarding                              v     checking
///                                                                  finding
/// ```
///
/// The marker's update time is a precondition of each commit, so that of two commits with the same
/// expectation one fails. Writes are therefore sent one at a time; further ones wait here. A write
/// that the marker names was committed: it is answered with its documents as the backend has them.
/// A refused write is committed, refused, or to be sent again, as the marker says.
///
/// A pure machine between the client and its write stream: the owner performs the actions in order.
package struct MarkedWrites: Sendable {
    package enum Action: Sendable {
        /// Send a request on the stream.
        case send(WriteRequest)
        /// Read documents in one snapshot, and call ``received(_:)``.
        case read([DocumentPath])
        /// Pass an event to the client.
        case deliver(WriteEvent)
        /// Close the stream.
        case close
    }

    private enum State {
        case closed
        case opening
        /// The handshake is answered, and the marker is being read.
        case reading
        /// The backend keeps names itself.
        case forwarding
        /// The first write, if any, is to be sent, or was sent.
        case writing(isSent: Bool)
        /// The documents of the first write, which was committed, are being read.
        case finding
        /// The stream has ended with an error of the first write, and the marker is being read.
        case checking(LarderError)
    }

    fileprivate struct Marker {
        /// The names of the last writes, whose answers the client may not have.
        var names: [String] = []
        /// The update time; none if there is no document.
        var version = SnapshotVersion.none
    }

    private struct Pending {
        let mutations: [Mutation]
        let name: WriteToken
    }

    /// The most names in a marker; few writes are answered and not stored.
    private static let maxNames = 32
    fileprivate static let namesField = "writes"

    private let collection: CollectionPath
    private let client: String
    private var path: DocumentPath
    private var state = State.closed
    private var marker = Marker()
    private var pending: [Pending] = []
    private var token: [UInt8] = []

    /// - Parameters:
    ///   - collection: the collection of the markers.
    ///   - client: the name of the client's store.
    package init(collection: CollectionPath, client: String) {
        (self.collection, self.client) = (collection, client)
        path = collection.marker(client)
    }

    // MARK: The client's requests

    /// A stream is being opened for a user; each has a marker.
    package mutating func open(as user: String) {
        path = collection.marker(user.isEmpty ? client : client + "-" + MD5(user).text)
        (state, marker, pending) = (.opening, Marker(), [])
    }

    /// The client has closed the stream.
    package mutating func close() {
        (state, pending) = (.closed, [])
    }

    package mutating func send(_ request: WriteRequest) -> [Action] {
        switch (state, request) {
        case (.closed, _): return []
        case (.writing, .write(let mutations, _, once: let name?)),
            (.finding, .write(let mutations, _, once: let name?)):
            pending.append(Pending(mutations: mutations, name: name))
            return pending.count == 1 ? sendNext() : []
        case (.writing, .write(let mutations, _, once: nil)):
            return [.send(.write(mutations, streamToken: token))]
        default: return [.send(request)]
        }
    }

    /// Sends the first write, unless it was committed before.
    private mutating func sendNext() -> [Action] {
        guard let first = pending.first else {
            state = .writing(isSent: false)
            return []
        }
        guard !marker.names.contains(first.name.write) else {
            state = .finding
            return [.read(first.mutations.paths)]
        }
        state = .writing(isSent: true)
        let answered = Set(first.name.answered)
        marker.names.removeAll(where: answered.contains)
        marker.names = marker.names.suffix(Self.maxNames - 1) + [first.name.write]
        guard let mark = try? mark else {
            return end(LarderError(.internal, "the marker of writes cannot be encoded"))
        }
        return [.send(.write(first.mutations + [mark], streamToken: token))]
    }

    /// The write of the marker with the present names.
    private var mark: Mutation {
        get throws(LarderError) {
            Mutation(
                .set(
                    try Record([Self.namesField: .array(marker.names.map { .string($0) })])),
                at: path,
                precondition: marker.version.isNone
                    ? .exists(false) : .updateTime(marker.version))
        }
    }

    // MARK: The stream's events

    package mutating func receive(_ event: WriteEvent) -> [Action] {
        switch (state, event) {
        case (.closed, _): return []
        case (.opening, .handshake(_, keepsNames: true)):
            state = .forwarding
        case (.opening, .handshake(let token, keepsNames: false)):
            self.token = token
            state = .reading
            return [.read([path])]
        case (.writing(isSent: true), .committed(let response, let token)):
            self.token = token
            return receive(response)
        case (.writing(isSent: true), .closed(let error?)) where error.kind.mayBeOfMarker:
            state = .checking(error)
            return [.read([path])]
        case (_, .closed): close()
        default: break
        }
        return [.deliver(event)]
    }

    private mutating func receive(_ response: CommitResponse) -> [Action] {
        var response = response
        guard !pending.isEmpty, let mark = response.results.popLast() else {
            return end(LarderError(.internal, "an answer without results"))
        }
        marker.version = mark.version.isNone ? response.commitVersion : mark.version
        pending.removeFirst()
        return [.deliver(.committed(response, streamToken: token))] + sendNext()
    }

    /// The documents that were read for the stream.
    package mutating func received(_ result: Result<[DocumentReading], LarderError>) -> [Action] {
        switch (state, result) {
        case (.reading, .failure(let error)), (.finding, .failure(let error)):
            return end(error.whileReading)
        case (.checking, .failure(let error)):
            close()
            return [.deliver(.closed(error.whileReading))]
        case (.reading, .success(let readings)):
            marker = Marker(readings.first)
            state = .writing(isSent: false)
            return [.deliver(.handshake(streamToken: token, keepsNames: true))]
        case (.finding, .success(let readings)):
            return found(readings) + sendNext()
        case (.checking(let error), .success(let readings)):
            let version = marker.version
            marker = Marker(readings.first)
            let isMade = pending.first.map { marker.names.contains($0.name.write) } ?? false
            close()
            // Otherwise the next stream reads the marker again.
            let isRefused = !isMade && marker.version == version
            let changed = LarderError(.unavailable, "the marker of writes at '\(path)' has changed")
            return [.deliver(.closed(isRefused ? error : changed))]
        default: return []
        }
    }

    /// The first write was committed before.
    private mutating func found(_ readings: [DocumentReading]) -> [Action] {
        guard !pending.isEmpty else { return [] }
        pending.removeFirst()
        let response = CommitResponse(
            commitVersion: marker.version, results: [], documents: readings)
        return [.deliver(.committed(response, streamToken: token))]
    }

    private mutating func end(_ error: LarderError) -> [Action] {
        close()
        return [.close, .deliver(.closed(error))]
    }
}

extension MarkedWrites.Marker {
    fileprivate init(_ reading: DocumentReading?) {
        guard let reading, case .found(let record, _) = reading.contents else { return }
        version = reading.version
        guard case .array(let values)? = record.fields[MarkedWrites.namesField] else { return }
        names = values.compactMap { if case .string(let name) = $0 { name } else { nil } }
    }
}

extension CollectionPath {
    fileprivate func marker(_ id: String) -> DocumentPath {
        DocumentPath(unchecked: string + "/" + id)
    }
}

extension [Mutation] {
    /// The paths, each once and in order.
    fileprivate var paths: [DocumentPath] {
        var seen = Set<DocumentPath>()
        return map(\.path).filter { seen.insert($0).inserted }
    }
}

extension LarderError {
    /// An error while the marker or the documents of a write are read, which does not concern the
    /// write.
    fileprivate var whileReading: LarderError {
        LarderError(
            kind.isPermanentForWrites ? .unavailable : kind,
            "the marker of writes cannot be read: \(message)", cause: self)
    }
}

extension LarderError.Code {
    /// True if the error may come from the precondition on the marker; the marker then tells whether
    /// the batch was committed before.
    fileprivate var mayBeOfMarker: Bool { isPermanentForWrites || self == .aborted }
}

extension MD5 {
    /// The digest in hexadecimal digits.
    fileprivate var text: String {
        [digest.low, digest.high].map { half in
            let digits = String(half.byteSwapped, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
