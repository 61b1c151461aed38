import GRPCCore
import Tracing

/// Makes the span of each call part of its caller's trace, where the headers name one.
struct TraceInterceptor: ServerInterceptor {
    let monitor: CallMonitor

    func intercept<Input: Sendable, Output: Sendable>(
        request: StreamingServerRequest<Input>, context: ServerContext,
        next:
            @Sendable (StreamingServerRequest<Input>, ServerContext) async throws
            -> StreamingServerResponse<Output>
    ) async throws -> StreamingServerResponse<Output> {
        var caller = InstrumentationContext.topLevel
        monitor.instrument.extract(
            request.metadata, into: &caller, using: MetadataExtractor())
        guard !caller.isEmpty else { return try await next(request, context) }
        return try await InstrumentationContext.withValue(caller) {
            var response = try await next(request, context)
            // A response's messages are made later, when they are written.
            if case .success(var contents) = response.accepted {
                let produce = contents.producer
                contents.producer = { [caller] writer in
                    try await InstrumentationContext.withValue(caller) {
                        try await produce(writer)
                    }
                }
                response.accepted = .success(contents)
            }
            return response
        }
    }
}

/// Finds what a caller's span is known by in the headers of its call.
private struct MetadataExtractor: Extractor {
    func extract(key: String, from metadata: Metadata) -> String? {
        metadata[stringValues: key].first { _ in true }
    }
}
