import LarderCore
package import Logging
import Synchronization

public import class Foundation.NSObject

/// The least severe log messages that are written, in Firebase's terms.
public enum FirebaseLoggerLevel: Int, Hashable, Sendable, CaseIterable {
    /// Errors only.
    case error = 3
    /// Warnings and errors.
    case warning = 4
    /// Notices too.
    case notice = 5
    /// Informational messages too.
    case info = 6
    /// Everything.
    case debug = 7

    /// The fewest messages: ``error``.
    public static let min = FirebaseLoggerLevel.error

    /// The most messages: ``debug``.
    public static let max = FirebaseLoggerLevel.debug

    var logLevel: Logger.Level {
        switch self {
        case .error: .error
        case .warning: .warning
        case .notice: .notice
        case .info: .info
        case .debug: .debug
        }
    }
}

/// What applies to all of Firebase's products: the log level of shared databases.
///
/// Messages go to swift-log with the labels `larder` and `larder.realtime`. Databases with a
/// configuration of their own use the logger of their configuration.
public final class FirebaseConfiguration: NSObject, Sendable {
    /// The only object.
    public static let shared = FirebaseConfiguration()

    private let level = Mutex(FirebaseLoggerLevel.warning)

    private override init() {}

    /// Sets the log level of shared databases; each one takes it over when it is first requested.
    ///
    /// The default is ``FirebaseLoggerLevel/warning``, where Apple's is
    /// ``FirebaseLoggerLevel/notice``. Can be called on any thread.
    public func setLoggerLevel(_ loggerLevel: FirebaseLoggerLevel) {
        level.withLock { $0 = loggerLevel }
    }

    /// The log level of shared databases.
    public func loggerLevel() -> FirebaseLoggerLevel {
        level.withLock { $0 }
    }

    /// The log level of shared databases.
    package var logLevel: Logger.Level { loggerLevel().logLevel }
}

/// The version of Larder, such as `0.2.0`, where Firebase's SDK returns its own.
public func FirebaseVersion() -> String { LarderVersion.text }
