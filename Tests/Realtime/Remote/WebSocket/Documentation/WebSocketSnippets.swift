import LarderRealtime
import LarderRealtimeWebSocket

/// The code of the article LarderRealtimeWebSocket; compiled only.
enum WebSocketSnippets {
    static func useShared() {
        // snippet: realtime-web-socket
        let database = Database.database()
        database.useBackend(.webSocket)
        // end
    }

    static func open(_ directory: String) throws -> Database {
        // snippet: realtime-web-socket-limits
        var limits = WebSocketConfiguration()
        limits.connectTimeout = .seconds(10)
        limits.trustedCertificateFiles = ["/etc/game/authority.pem"]
        var configuration = DatabaseConfiguration(directory: directory)
        configuration.url = "https://hub.example.net:8443?ns=game"
        configuration.connector = .webSocket(limits)
        let database = try Database(configuration: configuration)
        // end
        return database
    }
}
