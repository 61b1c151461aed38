import GRPCCore

/// A call of one small request, which is answered from its connection.
///
/// gRPC's way, a sequence of requests that are routed to what serves them, costs more than most of
/// these do.
struct ShortCall: Sendable {
    /// Is told once of an answer, on any thread: what makes it on the event loop.
    typealias Tell<Answer> = @Sendable (_ answer: @escaping @Sendable () throws -> Answer) -> Void

    /// What a request asks for.
    struct Work: Sendable {
        /// Does it, or begins it, on the event loop of the connection.
        ///
        /// - Returns: false, and has done nothing, where that would wait.
        var atOnce: @Sendable (_ tell: @escaping Tell<[[UInt8]]>) throws -> Bool = { _ in false }
        /// Does it in a task, which is cancelled when the call ends early.
        let later: @Sendable () async throws -> [[UInt8]]
    }

    /// The most that a request may have.
    static let maxRequestBytes = 64 << 10

    /// What is called.
    let method: MethodDescriptor
    /// Measures it.
    let monitor: CallMonitor
    /// Takes a request; nil where it is for gRPC to serve.
    let take: @Sendable ([UInt8]) -> Work?
}
