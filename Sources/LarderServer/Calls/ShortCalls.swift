import GRPCCore

/// A call of one small request, which is answered from its connection.
///
/// gRPC's way, a sequence of requests that are routed to what serves them, costs more than most of
/// these do.
struct ShortCall: Sendable {
    /// Does what a request asks for, and gives the messages of the answer.
    typealias Answer = @Sendable () async throws -> [[UInt8]]

    /// The most that a request may have.
    static let maxRequestBytes = 64 << 10

    /// What is called.
    let method: MethodDescriptor
    /// Takes a request; nil where it is for gRPC to serve.
    let take: @Sendable ([UInt8]) -> Answer?
}

/// The calls that may be answered from their connections.
struct ShortCalls: Sendable {
    private let calls: [String: ShortCall]
    private let monitor: CallMonitor

    init(_ calls: [ShortCall], _ monitor: CallMonitor) {
        self.calls = Dictionary(
            uniqueKeysWithValues: calls.map { ("/" + $0.method.fullyQualifiedMethod, $0) })
        self.monitor = monitor
    }

    /// The call of a path; nil where it is none of these.
    func call(_ path: String) -> ShortCall? { calls[path] }

    /// Does what a call asks for; its task is cancelled when the call ends early.
    func run(_ call: ShortCall, _ headers: CallHeaders, _ answer: ShortCall.Answer)
        async -> Result<[[UInt8]], RPCError>
    {
        do throws(RPCError) {
            return .success(try await monitor.watch(call.method, headers.metadata, answer))
        } catch {
            return .failure(error)
        }
    }
}
