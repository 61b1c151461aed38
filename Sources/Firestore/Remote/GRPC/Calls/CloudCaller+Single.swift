import GRPCCore
import LarderModel
import LarderRemote
import LarderWire
import SwiftProtobuf

extension CloudCaller {
    /// Makes a call with one request, and gathers its answers.
    ///
    /// A call that is refused for its token is made once more, with a new one: nothing was done.
    ///
    /// - Throws: what the host or the network answered.
    func answers<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
        _ method: MethodDescriptor, _ request: Request, of: Response.Type,
        as credentials: Credentials
    ) async throws(LarderError) -> [Response] {
        try await believed(method) { () async throws(LarderError) in
            try await once(method, request, as: credentials) {
                (messages: RPCAsyncSequence<Response, any Error>) in
                var answers: [Response] = []
                for try await message in messages { answers.append(message) }
                return answers
            }
        }
    }

    /// Makes a call with one request and one answer.
    ///
    /// - Throws: what the host or the network answered; `internal` for another count of answers.
    func answer<Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message>(
        _ method: MethodDescriptor, _ request: Request, of type: Response.Type,
        as credentials: Credentials
    ) async throws(LarderError) -> Response {
        let answers = try await answers(method, request, of: type, as: credentials)
        guard let answer = answers.first, answers.count == 1 else {
            throw LarderError(
                .internal, "\(method.method) has \(answers.count) answers instead of one")
        }
        return answer
    }

    /// Makes a call, and once more with a new token where the first was refused; measures both as
    /// one.
    ///
    /// - Throws: what the last one throws.
    func believed<Answer: Sendable>(
        _ method: MethodDescriptor, _ call: () async throws(LarderError) -> Answer
    ) async throws(LarderError) -> Answer {
        let clock = ContinuousClock()
        let start = clock.now
        do throws(LarderError) {
            let answer: Answer
            do throws(LarderError) {
                answer = try await call()
            } catch  where error.kind == .unauthenticated && error.cause is RPCError {
                tokens.invalidate()
                answer = try await call()
            }
            metrics.ended(method.method, nil, after: clock.now - start)
            return answer
        } catch {
            if error.kind == .unauthenticated, error.cause is RPCError { tokens.invalidate() }
            metrics.ended(method.method, error, after: clock.now - start)
            throw error
        }
    }

    /// Makes a call with one request.
    ///
    /// - Parameters:
    ///   - isBounded: whether it ends after the time that calls have.
    ///   - receive: called with the answers; the host waits while it takes none.
    /// - Throws: what the host or the network answered; what `receive` throws.
    func once<
        Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message, Answer: Sendable
    >(
        _ method: MethodDescriptor, _ request: Request, as credentials: Credentials,
        isBounded: Bool = true,
        receive: @escaping @Sendable (RPCAsyncSequence<Response, any Error>) async throws -> Answer
    ) async throws(LarderError) -> Answer {
        try await call(
            method, as: credentials, timeout: isBounded ? configuration.callTimeout : nil,
            ResponseDeserializer<Response>(),
            send: { (writer: RPCWriter<Request>) in try await writer.write(request) },
            receive: receive)
    }
}
