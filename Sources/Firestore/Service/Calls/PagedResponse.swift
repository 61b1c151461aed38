import LarderBackend
import LarderHTTP
import LarderModel
import LarderWire
import Synchronization

/// A part of a response: encoded messages.
struct ResponsePage: Sendable {
    var messages: [[UInt8]] = []
    var isLast = true

    /// The size of the messages.
    var bytes: Int { messages.reduce(0) { $0 + $1.count } }
}

/// Produces the pages of a response, one after the other on threads that may block.
protocol PageSource: AnyObject {
    /// What keeps the position; nil for a response of one page.
    var cursor: DocumentCursor? { get }

    /// Produces the next page.
    ///
    /// - Parameter maxBytes: the approximate size of a page.
    func next(maxBytes: Int) throws(LarderError) -> ResponsePage
}

/// A response that is produced page by page, at the pace of its client: between two pages it
/// occupies no thread.
///
/// Pages are produced one at a time.
final class PagedResponse: @unchecked Sendable {
    // The source is used by the page in production only.

    private struct State {
        var cursor: DocumentCursor?
        var isClosed = false
    }

    private let pool: WorkPool
    private let maxBytes: Int
    private let open: @Sendable () throws(LarderError) -> any PageSource
    private var source: (any PageSource)?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - pool: the threads that produce pages.
    ///   - maxBytes: the approximate size of a page.
    ///   - open: opens the source, for the first page.
    init(
        on pool: WorkPool, maxBytes: Int,
        _ open: @escaping @Sendable () throws(LarderError) -> any PageSource
    ) {
        self.pool = pool
        self.maxBytes = maxBytes
        self.open = open
    }

    deinit {
        close()
    }

    /// Produces the next page, once the client of the connection is not behind.
    ///
    /// - Parameters:
    ///   - origin: the call, whose connection waits in turn with others.
    ///   - completion: called with the page, on a thread of the pool. The page is a part of the
    ///     connection's backlog: whoever sends it takes it out.
    func next(
        for origin: CallOrigin?,
        _ completion: @escaping @Sendable (Result<ResponsePage, LarderError>) -> Void
    ) {
        pool.produce(for: origin) { [self] in
            let page = Result { () throws(LarderError) in try next() }
            if let origin, case .success(let page) = page {
                origin.connection.backlog.change(by: page.bytes)
            }
            completion(page)
        }
    }

    private func next() throws(LarderError) -> ResponsePage {
        guard !state.withLock(\.isClosed) else { throw .clientHasLeft }
        if let source { return try source.next(maxBytes: maxBytes) }
        let opened = try open()
        source = opened
        let cursor = opened.cursor
        let isClosed = state.withLock { state in
            state.cursor = cursor
            return state.isClosed
        }
        if isClosed { cursor?.close() }
        return try opened.next(maxBytes: maxBytes)
    }

    /// Releases the commit that the pages are of.
    func unpin() {
        state.withLock(\.cursor)?.unpin()
    }

    /// Ends the response.
    func close() {
        let cursor = state.withLock { state in
            defer { state.isClosed = true }
            return state.cursor
        }
        cursor?.close()
    }
}

extension Response {
    /// Encodes the message.
    ///
    /// - Throws: `internal` if it cannot be encoded.
    func encoded() throws(LarderError) -> [UInt8] {
        do {
            return try serializedBytes()
        } catch {
            throw LarderError(.internal, "the response cannot be encoded", cause: error)
        }
    }
}
