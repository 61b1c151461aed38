import GRPCCore
import NIOHPACK

/// A call of one small request, which may come by a shorter way than gRPC's.
struct ShortCall: Sendable {
    /// Does what a request asks for, and gives the messages of the answer.
    typealias Answer = @Sendable () async throws -> [[UInt8]]

    /// The most that a request may have.
    static let maxRequestBytes = 64 << 10

    /// What is called.
    let method: MethodDescriptor
    /// Takes a request; nil where it is not for the short way.
    let take: @Sendable ([UInt8]) -> Answer?
}

/// The calls that may come by the short way.
struct ShortCalls: Sendable {
    private let calls: [String: ShortCall]
    private let monitor: CallMonitor
    private let token: BearerToken?

    /// - Parameter token: what clients must bear; nil for nothing.
    init(_ calls: [ShortCall], _ monitor: CallMonitor, _ token: BearerToken?) {
        self.calls = Dictionary(
            uniqueKeysWithValues: calls.map { ("/" + $0.method.fullyQualifiedMethod, $0) })
        self.monitor = monitor
        self.token = token
    }

    /// The call that a request's headers begin; nil where it is none of these, or there is anything
    /// about it that gRPC's transport is to look at.
    func call(_ headers: HPACKHeaders) -> ShortCall? {
        guard headers.first(name: ":method") == "POST",
            let scheme = headers.first(name: ":scheme"), scheme == "http" || scheme == "https",
            headers.first(name: "content-type") == "application/grpc",
            let path = headers.first(name: ":path"), let call = calls[path]
        else { return nil }
        if let encoding = headers.first(name: "grpc-encoding"), encoding != "identity" {
            return nil
        }
        if let token, !headers["authorization"].contains(where: token.admits) { return nil }
        return call
    }

    /// Does what a call asks for.
    func run(_ call: ShortCall, _ headers: HPACKHeaders, _ answer: ShortCall.Answer)
        async -> Result<[[UInt8]], RPCError>
    {
        await withServerContextRPCCancellationHandle { handle in
            await withTaskCancellationHandler {
                do throws(RPCError) {
                    return .success(
                        try await monitor.watch(call.method, Metadata(headers), answer))
                } catch {
                    return .failure(error)
                }
            } onCancel: {
                handle.cancel()
            }
        }
    }
}

extension Metadata {
    /// The headers that a client has added.
    fileprivate init(_ headers: HPACKHeaders) {
        self.init()
        for (name, value, _) in headers where !name.hasPrefix(":") && !name.hasSuffix("-bin") {
            addString(value, forKey: name)
        }
    }
}
