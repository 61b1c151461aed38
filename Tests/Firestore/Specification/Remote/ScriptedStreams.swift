import LarderModel
import LarderRemote
import Synchronization

/// The client's end of a scripted watch stream.
final class ScriptedWatchStream: WatchStream {
    private let remote: ScriptedRemote
    private let id: Int

    init(_ remote: ScriptedRemote, _ id: Int) {
        self.remote = remote
        self.id = id
    }

    func send(_ request: WatchRequest) {
        remote.trace("watch: \(request.summary)")
        remote.state.withLock { state in
            guard state.watch?.id == id else { return }
            state.asked.watchRequestCount += 1
            switch request {
            case .add(let target): state.asked.activeTargets[target.id] = target
            case .remove(let id): state.asked.activeTargets[id] = nil
            }
        }
    }

    func demand(_ count: Int) {
        remote.state.withLock { state in
            guard state.watch?.id == id else { return }
            state.watch?.demand += count
        }
        remote.deliver()
    }

    func close() {
        let closed = remote.state.withLock { state in
            guard state.watch?.id == id else { return nil as ScriptedRemote.OpenWatch? }
            state.closedWatch = state.watch?.handler
            return state.endWatch()
        }
        if closed != nil { remote.trace("close watch stream") }
    }

    deinit { close() }
}

/// The client's end of a scripted write stream.
final class ScriptedWriteStream: WriteStream {
    private let remote: ScriptedRemote
    private let id: Int

    init(_ remote: ScriptedRemote, _ id: Int) {
        self.remote = remote
        self.id = id
    }

    func send(_ request: WriteRequest) {
        remote.trace("write: \(request.summary)")
        let answer = remote.state.withLock { state -> (@Sendable () -> Void)? in
            guard state.write?.id == id, let handler = state.write?.handler else { return nil }
            state.asked.writeRequestCount += 1
            switch request {
            case .handshake:
                if state.write?.isHandshakeDone == true {
                    state.asked.violations.append("a second handshake on one write stream")
                }
                state.write?.isHandshakeDone = true
                let token = state.nextToken()
                return { handler(.handshake(streamToken: token)) }
            case .write(let mutations, let streamToken, _):
                if state.write?.isHandshakeDone == false {
                    state.asked.violations.append("a write before the handshake")
                }
                if streamToken.isEmpty { state.asked.violations.append("a write without a token") }
                // Without mutations it is the good-bye.
                if !mutations.isEmpty { state.asked.sentWrites.append(mutations) }
                return nil
            }
        }
        answer?()
    }

    func close() {
        let closed = remote.state.withLock { state in
            state.write?.id == id ? state.endWrite() : nil
        }
        if closed != nil { remote.trace("close write stream") }
    }

    deinit { close() }
}
