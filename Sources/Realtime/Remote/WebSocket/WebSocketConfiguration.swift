import LarderCore
import LarderRealtimeModel
public import Logging

/// The limits of connections to a Realtime Database server, and the certificates to trust.
///
/// The address is that of the database.
public struct WebSocketConfiguration: Sendable {
    /// PEM files with the certificates that servers are verified with; empty for the system's
    /// certificate authorities.
    public var trustedCertificateFiles: [String] = []

    /// The time limit from the beginning of a connection to the server's greeting.
    public var connectTimeout: Duration = .seconds(20)

    /// The silence after which a keepalive is sent; nil for none.
    ///
    /// Servers close connections that are silent for longer than about a minute.
    public var keepaliveInterval: Duration? = .seconds(45)

    /// The time after which an unanswered keepalive closes the connection.
    public var keepaliveTimeout: Duration = .seconds(20)

    /// The time after which a connection is closed whose server does not take what was sent.
    public var writeTimeout: Duration = .seconds(60)

    /// The maximum size of a received message; a larger one closes the connection.
    ///
    /// The default is the size up to which the Firebase service answers reads.
    public var maxMessageBytes = 256 << 20

    /// The logger of connections; tokens and data are never logged.
    public var logger = Logger(label: "larder.realtime.remote")

    /// The default limits, with the system's certificate authorities.
    public init() {}

    /// - Throws: `invalidArgument` for a limit that is not positive, or too large.
    func validate() throws(LarderError) {
        guard connectTimeout > .zero, keepaliveTimeout > .zero, writeTimeout > .zero,
            keepaliveInterval.map({ $0 > .zero }) ?? true,
            (1...Int(Int32.max)).contains(maxMessageBytes)
        else {
            throw LarderError(
                realtime: .invalidArgument,
                "limits of a connection must be positive, and messages smaller than 2 GiB")
        }
    }
}
