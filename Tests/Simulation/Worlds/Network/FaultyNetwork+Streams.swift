import LarderModel
import LarderQuery
import LarderRemote
import SimulationSupport

extension FaultyNetwork {
    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        WatchHandle(connection: Connection(self, watchKind(credentials), handler))
    }

    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        WriteHandle(connection: Connection(self, writeKind(credentials), handler))
    }

    private func watchKind(_ credentials: Credentials)
        -> Connection<WatchMessage, WatchEvent>.Kind
    {
        var isAmidSnapshot = false
        return Connection.Kind(
            name: "watch",
            open: { [self] handler in
                let stream = backend.remote.openWatchStream(as: credentials, handler)
                return Connection.BackendEnd(
                    send: { message in
                        switch message {
                        case .request(let request): stream.send(self.aged(request))
                        case .demand(let count): stream.demand(count)
                        }
                    }, close: stream.close)
            }, closed: { .closed($0) },
            isEnd: { if case .closed = $0 { true } else { false } },
            sent: { [journal] message in
                guard case .request(.add(let target)) = message else { return }
                if target.purpose == .limboResolution { journal.note(.limbo) }
            }, arrived: { _ in }, answered: { [journal] in journal.note($0) },
            loss: { [self] event in
                guard case .response(let response) = event else { return nil }
                switch response {
                case .document, .unreadable, .removed: isAmidSnapshot = true
                case .targets(let change) where change.targetIDs.isEmpty:
                    if !change.readTime.isNone {
                        noteSnapshot(change.readTime)
                        isAmidSnapshot = false
                    }
                case .targets, .existenceFilter: break
                }
                return isAmidSnapshot && faults.happens(.snapshotLost) ? .snapshotLost : nil
            },
            isSwallowed: { [faults] event in
                guard case .response(.document) = event else { return false }
                return faults.isDocumentLost()
            }, requestText: { $0.text }, eventText: { $0.text })
    }

    /// A request with a resume token that the backend may have dropped.
    private func aged(_ request: WatchRequest) -> WatchRequest {
        guard case .add(var target) = request, case .token = target.resumption,
            faults.happens(.tokenExpired)
        else { return request }
        journal.note(.tokenExpired)
        target.resumption = .token([0])
        return .add(target)
    }

    private func writeKind(_ credentials: Credentials)
        -> Connection<WriteRequest, WriteEvent>.Kind
    {
        let stream = WriteAudit.Stream(client: number, userID: credentials.userID)
        return Connection.Kind(
            name: "write",
            open: { [backend, keepsNames] handler in
                let stream = backend.remote.openWriteStream(as: credentials) { event in
                    guard !keepsNames, case .handshake(let token, _) = event else {
                        return handler(event)
                    }
                    handler(.handshake(streamToken: token))
                }
                return Connection.BackendEnd(send: stream.send, close: stream.close)
            }, closed: { .closed($0) },
            isEnd: { if case .closed = $0 { true } else { false } },
            sent: { [audit] in audit.sent($0, on: stream) },
            arrived: { [audit] in audit.arrived($0, on: stream) },
            answered: { [audit] in audit.answered($0, on: stream) },
            loss: { [faults] event in
                guard case .committed = event else { return nil }
                return faults.happens(.acknowledgementLost) ? .acknowledgementLost : nil
            }, isSwallowed: { _ in false }, requestText: { $0.text }, eventText: { $0.text })
    }
}

/// A client's requests on a watch stream, and its demand.
enum WatchMessage: Sendable {
    case request(WatchRequest)
    case demand(Int)
}

/// The client's end of a watch stream; closed when it is released.
private final class WatchHandle: WatchStream {
    private let connection: Connection<WatchMessage, WatchEvent>

    init(connection: Connection<WatchMessage, WatchEvent>) {
        self.connection = connection
    }

    deinit { connection.close() }

    func send(_ request: WatchRequest) { connection.send(.request(request)) }
    func demand(_ count: Int) { connection.send(.demand(count)) }
    func close() { connection.close() }
}

/// The client's end of a write stream; closed when it is released.
private final class WriteHandle: WriteStream {
    private let connection: Connection<WriteRequest, WriteEvent>

    init(connection: Connection<WriteRequest, WriteEvent>) {
        self.connection = connection
    }

    deinit { connection.close() }

    func send(_ request: WriteRequest) { connection.send(request) }
    func close() { connection.close() }
}

extension Journal {
    /// Counts rare responses of the backend.
    fileprivate func note(_ event: WatchEvent) {
        guard case .response(let response) = event else { return }
        switch response {
        case .existenceFilter: note(.existenceFilter)
        case .targets(let change):
            switch change.kind {
            case .reset: note(.targetReset)
            case .removed(let error?):
                note(
                    change.targetIDs.allSatisfy { $0 % 2 == 1 } ? .limboDenied : .targetDenied,
                    "\(error)")
            default: break
            }
        case .document, .unreadable, .removed: break
        }
    }
}
