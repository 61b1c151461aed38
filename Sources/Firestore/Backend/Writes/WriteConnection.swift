import LarderRemote

/// A client's side of a stream that takes writes.
final class WriteConnection: WriteStream {
    private let handle: StreamHandle

    init(_ handle: StreamHandle) {
        self.handle = handle
    }

    deinit {
        close()
    }

    func send(_ request: WriteRequest) {
        handle.perform { $0.receive(request, onWriteStream: $1) }
    }

    func close() {
        handle.close { $0.endWriteStream($1) }
    }
}
