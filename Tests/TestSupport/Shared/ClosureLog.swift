package import Logging

/// A log handler that passes each message to a closure.
package struct ClosureLog: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level
    private let record: @Sendable (LogEvent) -> Void

    /// - Parameters:
    ///   - level: the least level of messages.
    ///   - record: called with each message, on the thread that logs it.
    package init(_ level: Logger.Level = .trace, _ record: @escaping @Sendable (LogEvent) -> Void) {
        logLevel = level
        self.record = record
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        record(event)
    }
}
