package import LarderModel
package import LarderRemote

/// A watch stream as a test looks at it; any thread may use it.
package final class WatchProbe: Sendable {
    private let heard: Awaited<WatchMirror>
    private let stream: any WatchStream

    /// Opens a stream that may say as much as the demand says at once.
    package init(
        _ remote: any Remote, _ database: DatabaseID, as userID: String = "", demand: Int = .max
    ) {
        let heard = Awaited(WatchMirror(database))
        self.heard = heard
        stream = remote.openWatchStream(as: Credentials(userID: userID)) { event in
            heard.change { $0.receive(event) }
        }
        if demand > 0 { stream.demand(demand) }
    }

    /// What the client knows.
    package var mirror: WatchMirror { heard.value }

    /// Sends a request.
    ///
    /// - Parameter known: the documents that the client knows of a target that it resumes.
    package func send(
        _ request: WatchRequest, known: [DocumentPath: DocumentReading] = [:]
    ) {
        heard.change { $0.send(request, known: known) }
        stream.send(request)
    }

    /// Lets the stream say more.
    package func demand(_ count: Int) {
        stream.demand(count)
    }

    /// Ends the stream.
    package func close() {
        stream.close()
    }

    /// Waits until something is so.
    package func wait(_ condition: @escaping @Sendable (WatchMirror) -> Bool) async {
        await heard.wait(condition)
    }
}
