import GRPCCore
import LarderHTTP
import LarderModel
import LarderWire
import Logging
import Metrics
import Synchronization
import Tracing

/// Records metrics, logs and spans of calls, and converts errors to statuses.
///
/// Metrics: the timer `larder_server_call_seconds` by `method` and the counter
/// `larder_server_calls` by `method` and `code`; the gauges `larder_server_streams` and
/// `larder_server_databases`, and the counter `larder_server_http2_faults`, are elsewhere. Calls
/// over gRPC are logged at info level (those over HTTP by its front), the reasons of refusals at
/// debug level, and faults of the server as errors. Each call is a span with OpenTelemetry's
/// attributes: `rpc.system`, `rpc.service`, `rpc.method`, `rpc.grpc.status_code` and, for the
/// database, `db.namespace`.
final class CallMonitor: Sendable {
    private struct Meter: Sendable {
        let time: Metrics.Timer
        /// Counts successful calls; counters of other codes are created on demand.
        let successes: Counter
    }

    private let logger: Logger
    private let log: RequestLog
    private let metrics: any MetricsFactory
    private let meters: [String: Meter]
    /// The tracer; nil if the process has none.
    private let tracer: (any Tracer)?
    /// Extracts the caller's span from a call's headers.
    private let instrument: any Instrument

    @TaskLocal fileprivate static var call: MonitoredCall?

    /// Uses the current metrics system of the process.
    ///
    /// - Parameter tracer: creates the spans; nil for the current tracer of the process.
    init(_ logger: Logger, tracer: (any Tracer)? = nil) {
        self.logger = logger
        log = RequestLog(logger)
        let known = tracer ?? InstrumentationSystem.tracer
        self.tracer = known is NoOpTracer ? nil : known
        instrument = tracer ?? InstrumentationSystem.instrument
        let metrics = MetricsSystem.factory
        self.metrics = metrics
        let names = Google_Firestore_V1_Firestore.Method.descriptors.map(\.method)
        meters = Dictionary(
            uniqueKeysWithValues: names.map { name in
                let time = Timer(
                    label: "larder_server_call_seconds", dimensions: [("method", name)],
                    factory: metrics)
                return (name, Meter(time: time, successes: Self.counter(name, "ok", metrics)))
            })
    }

    private static func counter(
        _ method: String, _ code: String, _ metrics: any MetricsFactory
    ) -> Counter {
        Counter(
            label: "larder_server_calls", dimensions: [("method", method), ("code", code)],
            factory: metrics)
    }

    /// Begins a call.
    ///
    /// - Parameters:
    ///   - metadata: the headers of the call, with the caller's trace.
    ///   - peer: the address of a client of gRPC; nil for calls that are logged elsewhere.
    func begin(
        _ method: MethodDescriptor, _ metadata: @autoclosure () -> Metadata, peer: String? = nil
    ) -> MonitoredCall {
        let span = tracer.map { makeSpan($0, method, metadata()) }
        let line = peer.flatMap { log.isOn ? CallLine(peer: $0) : nil }
        return MonitoredCall(monitor: self, method: method.method, span: span, line: line)
    }

    private func makeSpan(
        _ tracer: any Tracer, _ method: MethodDescriptor, _ metadata: Metadata
    ) -> any Span {
        var caller = InstrumentationContext.topLevel
        instrument.extract(metadata, into: &caller, using: MetadataExtractor())
        let span = tracer.startAnySpan(
            method.fullyQualifiedMethod, context: caller, ofKind: .server)
        span.attributes["rpc.system"] = "grpc"
        span.attributes["rpc.service"] = method.service.fullyQualifiedService
        span.attributes["rpc.method"] = method.method
        return span
    }

    /// Records the database of the current task's call.
    func note(_ database: DatabaseID) {
        guard let call = Self.call else { return }
        call.line?.database.withLock { $0 = "\(database)" }
        guard let span = call.span, span.isRecording else { return }
        span.attributes["db.namespace"] = "\(database)"
    }

    private func write(
        _ line: CallLine?, _ method: String, _ status: String, in duration: Duration
    ) {
        guard let line else { return }
        let database = line.database.withLock(\.self)
        log.note(
            method, status: status, in: duration, address: line.peer,
            database.map { ["database": "\($0)"] } ?? [:])
    }

    fileprivate func succeeded(_ method: String, in duration: Duration, _ line: CallLine?) {
        let meter = meters[method]
        meter?.time.recordSeconds(duration / .seconds(1))
        meter?.successes.increment()
        write(line, method, "ok", in: duration)
    }

    fileprivate func failed(
        _ method: String, in duration: Duration, _ status: RPCError, _ error: any Error,
        _ line: CallLine?
    ) {
        write(line, method, "\(status.code)", in: duration)
        meters[method]?.time.recordSeconds(duration / .seconds(1))
        let code = "\(status.code)"
        Self.counter(method, code, metrics).increment()
        let metadata: Logger.Metadata = [
            "method": "\(method)", "code": "\(code)", "reason": "\(error)",
        ]
        if status.code.isFault {
            logger.error("a call failed", metadata: metadata)
        } else {
            logger.debug("a call was refused", metadata: metadata)
        }
    }
}

/// What the line of a call in the log has beside its method and outcome.
private final class CallLine: Sendable {
    let peer: String
    let database = Mutex<String?>(nil)

    init(peer: String) {
        self.peer = peer
    }
}

/// A call in progress.
struct MonitoredCall: Sendable {
    fileprivate let monitor: CallMonitor
    fileprivate let method: String
    fileprivate let span: (any Span)?
    /// What is logged at the end; nil for nothing.
    fileprivate let line: CallLine?
    private let start = ContinuousClock.now

    /// Runs a part of the call's work within its span.
    func run<R>(_ body: () throws -> R) rethrows -> R {
        guard span != nil || line != nil else { return try body() }
        return try CallMonitor.$call.withValue(self) {
            guard let span else { return try body() }
            return try InstrumentationContext.withValue(span.context, operation: body)
        }
    }

    /// Runs a part of the call's work within its span.
    func run<R>(_ body: () async throws -> R) async rethrows -> R {
        guard span != nil || line != nil else { return try await body() }
        return try await CallMonitor.$call.withValue(self) {
            guard let span else { return try await body() }
            return try await InstrumentationContext.withValue(span.context) { try await body() }
        }
    }

    /// Builds the response and ends the call.
    func finish<R>(_ body: () throws -> R) throws(RPCError) -> R {
        do {
            let result = try body()
            succeeded()
            return result
        } catch {
            throw failed(error)
        }
    }

    /// Ends with success.
    func succeeded() {
        monitor.succeeded(method, in: ContinuousClock.now - start, line)
        guard let span else { return }
        span.attributes["rpc.grpc.status_code"] = Status.Code.ok.rawValue
        span.end()
    }

    /// Ends with an error.
    ///
    /// - Returns: the status for the client.
    func failed(_ error: any Error) -> RPCError {
        let status = Self.status(of: error)
        monitor.failed(method, in: ContinuousClock.now - start, status, error, line)
        guard let span else { return status }
        span.attributes["rpc.grpc.status_code"] = status.code.rawValue
        if status.code.isFault {
            span.recordError(error)
            span.setStatus(SpanStatus(code: .error))
        }
        span.end()
        return status
    }

    private static func status(of error: any Error) -> RPCError {
        if let error = error as? LarderError { return RPCError(error) }
        if let error = error as? RPCError { return error }
        if error is CancellationError {
            return RPCError(code: .cancelled, message: "the call was cancelled")
        }
        return RPCError(code: .internalError, message: "internal server error")
    }
}

extension RPCError.Code {
    /// Whether the code is a fault of the server.
    fileprivate var isFault: Bool {
        switch self {
        case .internalError, .dataLoss, .unknown: true
        default: false
        }
    }
}

/// Reads the caller's trace from metadata.
private struct MetadataExtractor: Extractor {
    func extract(key: String, from metadata: Metadata) -> String? {
        metadata[stringValues: key].first { _ in true }
    }
}
