import LarderModel
import LarderRemote
import Synchronization

/// What a test makes the backend do.
extension ScriptedRemote {
    /// Says something on the watch stream, as soon as the client lets it through.
    func say(_ response: WatchResponse) {
        let isOpen = state.withLock { state in
            if case .targets(let change) = response, case .removed(_?) = change.kind {
                for id in change.targetIDs { state.asked.activeTargets[id] = nil }
            }
            state.watch?.waiting.append(response)
            return state.watch != nil
        }
        isOpen ? deliver() : note(violation: "the watch stream is not open")
    }

    /// Says something on the watch stream that the client closed last.
    func sayLate(_ response: WatchResponse) {
        guard let handler = state.withLock({ $0.closedWatch }) else {
            return note(violation: "no watch stream was closed by the client")
        }
        handler(.response(response))
    }

    /// Delivers what the client has room for.
    func deliver() {
        while let (handler, response) = state.withLock({ $0.watch?.next() }) ?? nil {
            handler(.response(response))
        }
    }

    /// Ends the watch stream with an error.
    func failWatchStream(_ error: LarderError) {
        guard let stream = state.withLock({ $0.endWatch() }) else {
            return note(violation: "the watch stream is not open")
        }
        stream.handler(.closed(error))
    }

    /// Takes the oldest write without an answer; nil when there is none.
    func takeSentWrite() -> [Mutation]? {
        state.withLock { state in
            state.asked.sentWrites.isEmpty ? nil : state.asked.sentWrites.removeFirst()
        }
    }

    /// Says that a write is committed.
    func commit(_ write: [Mutation], at version: SnapshotVersion) {
        let (handler, token) = state.withLock { ($0.write?.handler, $0.nextToken()) }
        guard let handler else { return note(violation: "the write stream is not open") }
        let response = CommitResponse(
            commitVersion: version, results: write.map { _ in MutationResult(version: version) })
        handler(.committed(response, streamToken: token))
    }

    /// Ends the write stream with an error.
    func failWriteStream(_ error: LarderError) {
        guard let stream = state.withLock({ $0.endWrite() }) else {
            return note(violation: "the write stream is not open")
        }
        stream.handler(.closed(error))
    }
}

extension ScriptedRemote.OpenWatch {
    /// The next response, if the client has room for one.
    fileprivate mutating func next() -> (@Sendable (WatchEvent) -> Void, WatchResponse)? {
        guard demand > 0, !waiting.isEmpty else { return nil }
        demand -= 1
        return (handler, waiting.removeFirst())
    }
}

extension ScriptedRemote.State {
    /// Forgets the watch stream and what was asked on it, and gives it: handlers are let go
    /// outside the lock.
    mutating func endWatch() -> ScriptedRemote.OpenWatch? {
        defer { watch = nil }
        asked.activeTargets = [:]
        return watch
    }

    /// Forgets the write stream and what was asked on it, and gives it.
    mutating func endWrite() -> ScriptedRemote.OpenWrite? {
        defer { write = nil }
        asked.sentWrites = []
        return write
    }
}
