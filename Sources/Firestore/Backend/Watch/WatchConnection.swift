package import LarderModel
package import LarderRemote

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
