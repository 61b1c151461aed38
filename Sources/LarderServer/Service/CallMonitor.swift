import GRPCCore
import LarderModel
import LarderProtocol
import Logging
import Metrics
import Tracing

/// Measures calls, and makes a call's status of what went wrong in it.
///
/// Metrics: the timer `larder_server_call_seconds` and the counter `larder_server_calls`, both by
/// `method` and, the counter, by `code`; the gauges `larder_server_streams` and
/// `larder_server_databases` are elsewhere. The log hears of calls at trace
/// level, of refusals at debug level, and of what is the server's fault as errors. Each call is a
/// span, as OpenTelemetry names its parts: `rpc.system`, `rpc.service`, `rpc.method`,
/// `rpc.grpc.status_code` and, for the database, `db.namespace`.
final class CallMonitor: Sendable {
    /// What calls of a method are measured with.
    private struct Meter: Sendable {
        let time: Metrics.Timer
        /// Those that went well; there is one for each other code, when it comes to that.
        let successes: Counter
    }

    private let logger: Logger
    private let meters: [String: Meter]
    private let givenTracer: (any Tracer)?

    /// The span of the call that a task serves.
    @TaskLocal private static var span: (any Span)?

    /// Measures with the metrics system of the process.
    ///
    /// - Parameter tracer: makes the spans; nil for the tracer of the process.
    init(_ logger: Logger, tracer: (any Tracer)? = nil) {
        self.logger = logger
        givenTracer = tracer
        let names = Google_Firestore_V1_Firestore.Method.descriptors.map(\.method)
        meters = Dictionary(
            uniqueKeysWithValues: names.map { name in
                let time = Timer(
                    label: "larder_server_call_seconds", dimensions: [("method", name)])
                return (name, Meter(time: time, successes: Self.counter(name, "ok")))
            })
    }

    private static func counter(_ method: String, _ code: String) -> Counter {
        Counter(label: "larder_server_calls", dimensions: [("method", method), ("code", code)])
    }

    /// Does what a call asks for.
    ///
    /// - Parameter metadata: the headers of the call; its span is part of the trace that they name.
    func watch<R>(
        _ method: MethodDescriptor, _ metadata: @autoclosure () -> Metadata,
        _ body: () async throws -> R
    ) async throws(RPCError) -> R {
        let start = ContinuousClock.now
        do {
            // Most servers have no tracer, and a call's stack is kept as long as the call.
            let result =
                if tracer is NoOpTracer {
                    try await body()
                } else {
                    try await trace(method, metadata(), body)
                }
            ended(method.method, start, nil)
            return result
        } catch {
            let status = Self.status(of: error)
            ended(method.method, start, status, error)
            throw status
        }
    }

    /// Does what a call asks for within a span.
    private func trace<R>(
        _ method: MethodDescriptor, _ metadata: Metadata, _ body: () async throws -> R
    ) async throws -> R {
        var caller = InstrumentationContext.topLevel
        instrument.extract(metadata, into: &caller, using: MetadataExtractor())
        // A span that a closure throws out of is an error, which a refusal is not.
        let result = await tracer.withAnySpan(
            method.fullyQualifiedMethod, context: caller, ofKind: .server
        ) { span -> Result<R, any Error> in
            span.attributes["rpc.system"] = "grpc"
            span.attributes["rpc.service"] = method.service.fullyQualifiedService
            span.attributes["rpc.method"] = method.method
            do {
                let result = try await Self.$span.withValue(span) { try await body() }
                span.attributes["rpc.grpc.status_code"] = Status.Code.ok.rawValue
                return .success(result)
            } catch {
                let status = Self.status(of: error)
                span.attributes["rpc.grpc.status_code"] = status.code.rawValue
                if status.code.isFault {
                    span.recordError(error)
                    span.setStatus(SpanStatus(code: .error))
                }
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Notes which database the call is about that this task serves.
    func note(_ database: DatabaseID) {
        guard let span = Self.span, span.isRecording else { return }
        span.attributes["db.namespace"] = "\(database)"
    }

    /// What makes spans.
    private var tracer: any Tracer { givenTracer ?? InstrumentationSystem.tracer }

    /// What knows the span of the caller from a call's headers.
    private var instrument: any Instrument { givenTracer ?? InstrumentationSystem.instrument }

    private static func status(of error: any Error) -> RPCError {
        if let error = error as? LarderError { return RPCError(error) }
        if let error = error as? RPCError { return error }
        if error is CancellationError {
            return RPCError(code: .cancelled, message: "the call was cancelled")
        }
        return RPCError(code: .internalError, message: "the server failed")
    }

    private func ended(
        _ method: String, _ start: ContinuousClock.Instant, _ status: RPCError?,
        _ error: (any Error)? = nil
    ) {
        let duration = ContinuousClock.now - start
        let meter = meters[method]
        meter?.time.recordSeconds(duration / .seconds(1))
        guard let status else {
            meter?.successes.increment()
            logger.trace("call", metadata: ["method": "\(method)"])
            return
        }
        let code = "\(status.code)"
        Self.counter(method, code).increment()
        let metadata: Logger.Metadata = [
            "method": "\(method)", "code": "\(code)",
            "reason": "\(error.map { "\($0)" } ?? status.message)",
        ]
        if status.code.isFault {
            logger.error("a call failed", metadata: metadata)
        } else {
            logger.debug("a call was refused", metadata: metadata)
        }
    }
}

extension RPCError.Code {
    /// Whether it is the server that is to blame.
    fileprivate var isFault: Bool {
        switch self {
        case .internalError, .dataLoss, .unknown: true
        default: false
        }
    }
}

/// Finds what a caller's span is known by in the headers of its call.
private struct MetadataExtractor: Extractor {
    func extract(key: String, from metadata: Metadata) -> String? {
        metadata[stringValues: key].first { _ in true }
    }
}
