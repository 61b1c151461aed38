import GRPCCore
import LarderHTTP
import LarderModel

/// The methods with one request, from and to encoded messages: as gRPC's connections serve them,
/// for clients that do not speak gRPC.
struct EncodedCalls: Sendable {
    /// Sends responses; returns when more may follow.
    typealias Give = @Sendable ([[UInt8]]) async throws -> Void

    private let methods: [MethodDescriptor: RequestMethod]
    private let snapshotTime: Duration

    init(_ service: FirestoreService) {
        var methods: [MethodDescriptor: RequestMethod] = [:]
        for case .request(let method) in service.methods { methods[method.descriptor] = method }
        self.methods = methods
        snapshotTime = service.limits.snapshotTime
    }

    /// Serves a call, which ends with the current task.
    ///
    /// - Parameter metadata: the headers of the request.
    func serve(
        _ method: MethodDescriptor, _ request: [UInt8], _ metadata: Metadata, _ give: @escaping Give
    ) async throws(RPCError) {
        guard let method = methods[method] else {
            throw RPCError(
                code: .unimplemented, message: "\(method.method) is not available over HTTP")
        }
        let call = method.monitor.begin(method.descriptor, metadata)
        do {
            try await call.run {
                switch try await method.work(request).async() {
                case .messages(let messages): try await give(messages)
                case .pages(let pages): try await serve(pages, give)
                }
            }
            call.succeeded()
        } catch {
            throw call.failed(error)
        }
    }

    /// Sends the pages of a response; after a while those of a slow client are of later commits.
    private func serve(_ pages: PagedResponse, _ give: Give) async throws {
        defer { pages.close() }
        let unpinning = Task {
            try await Task.sleep(for: snapshotTime)
            pages.unpin()
        }
        defer { unpinning.cancel() }
        let origin = CallOrigin.current
        while true {
            let page: Result<ResponsePage, LarderError> = await withCheckedContinuation {
                continuation in
                pages.next(for: origin) { continuation.resume(returning: $0) }
            }
            let part = try page.get()
            defer { origin?.connection.backlog.change(by: -part.bytes) }
            try await give(part.messages)
            if part.isLast { return }
        }
    }
}
