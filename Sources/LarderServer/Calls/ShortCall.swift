import GRPCCore

/// A call of one small request, which is answered from its connection.
///
/// gRPC's way, a sequence of requests that are routed to what serves them, costs more than most of
/// these do.
struct ShortCall: Sendable {
    /// What a request asks for; it gives the messages of the answer.
    struct Work: Sendable {
        /// Does it on the event loop of the connection; gives nothing, and has done nothing, where
        /// that would wait.
        var atOnce: @Sendable () throws -> [[UInt8]]? = { nil }
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
