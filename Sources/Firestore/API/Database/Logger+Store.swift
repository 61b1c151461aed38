import LarderStorage
import Logging
import Synchronization

extension Logger {
    /// The logger of the shared databases: warnings and errors, or everything.
    static var shared: Logger {
        var logger = Logger(label: "larder")
        logger.logLevel = isVerbose.load(ordering: .relaxed) ? .debug : .warning
        return logger
    }

    private static let isVerbose = Atomic<Bool>(false)

    static func setVerbose(_ isVerbose: Bool) {
        self.isVerbose.store(isVerbose, ordering: .relaxed)
    }

    /// What the store calls with its messages.
    var storeLog: @Sendable (StoreConfiguration.LogLevel, String) -> Void {
        { level, message in
            log(level: Level(level), "\(message)")
        }
    }

    /// The most detailed level that the store needs to report.
    var storeLogLevel: StoreConfiguration.LogLevel {
        switch logLevel {
        case .trace, .debug: .debug
        case .info, .notice: .info
        case .warning: .warning
        case .error, .critical: .error
        }
    }
}

extension Logger.Level {
    fileprivate init(_ level: StoreConfiguration.LogLevel) {
        switch level {
        case .error: self = .error
        case .warning: self = .warning
        case .info: self = .info
        case .debug: self = .debug
        }
    }
}
