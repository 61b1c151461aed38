public import Foundation
import LarderCore
import LarderRealtimeModel
public import LarderRealtimeRemote
import NIOCore
import NIOPosix

extension RealtimeRemoteConnector {
    private static let emulatorVariable = "FIREBASE_DATABASE_EMULATOR_HOST"

    /// Connects databases over WebSockets to the servers that their URLs name, or to the emulator
    /// named by their settings or by `FIREBASE_DATABASE_EMULATOR_HOST`.
    ///
    /// ```swift
    /// let database = Database.database()
    /// database.useBackend(.webSocket)
    /// ```
    public static var webSocket: RealtimeRemoteConnector { webSocket(WebSocketConfiguration()) }

    /// Like ``webSocket``, with other limits or trusted certificates.
    ///
    /// Files of certificates are read whenever a database opens, which fails with
    /// `invalidArgument` for an invalid configuration.
    ///
    /// - Parameters:
    ///   - configuration: the limits of the connections.
    ///   - environment: the variables that may name an emulator, such as `localhost:9000`; it
    ///     replaces servers that connections are encrypted to, and keeps the name of the database.
    public static func webSocket(
        _ configuration: WebSocketConfiguration,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> RealtimeRemoteConnector {
        RealtimeRemoteConnector { (address) throws(LarderError) in
            var address = address
            if address.isEncrypted, let emulator = environment[emulatorVariable], !emulator.isEmpty
            {
                (address.host, address.isEncrypted) = (emulator, false)
            }
            return RealtimeRemoteConnection(
                try WebSocketRemote(
                    address, configuration, group: MultiThreadedEventLoopGroup.singleton))
        }
    }
}
