import LarderTransport

/// A client's side of a watch stream.
final class WatchConnection: WatchStream {
    private let handle: StreamHandle

    init(_ handle: StreamHandle) {
        self.handle = handle
    }

    deinit {
        close()
    }

    func send(_ request: WatchRequest) {
        handle.perform { $0.receive(request, onWatchStream: $1) }
    }

    func demand(_ count: Int) {
        handle.perform { $0.addDemand(count, onWatchStream: $1) }
    }

    func close() {
        handle.close { $0.endWatchStream($1) }
    }
}
