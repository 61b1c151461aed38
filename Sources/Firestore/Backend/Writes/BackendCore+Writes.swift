import LarderRemote

extension BackendCore {
    /// Begins to serve a stream that takes writes.
    func openWriteStream(
        _ id: StreamID, as credentials: Credentials,
        _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) {
        let session = WriteSession(gate: gate(credentials), handler)
        guard !isClosed else { return session.close(Self.closed) }
        writeSessions[id] = session
        session.open()
    }

    /// Takes a request of a stream, unless that has ended.
    func receive(_ request: WriteRequest, onWriteStream id: StreamID) {
        let request = writeSessions[id]?.receive(request)
        if let request { commit(request) }
    }

    /// Ends a stream whose client has left.
    func endWriteStream(_ id: StreamID) {
        writeSessions.removeValue(forKey: id)?.end()
    }
}
