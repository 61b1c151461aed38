import Dispatch
import LarderRealtime
import LarderRealtimeWebSocket

/// Which tills are in use: each has an entry in `tills`, which the server removes when the till's
/// connection ends, however that happens.
struct Presence {
    let database: Database
    private let name: String

    init(name: String, directory: String, server: ServerAddress) throws {
        var configuration = DatabaseConfiguration(directory: directory)
        configuration.url = "http://\(server.host):\(server.port)?ns=cafe"
        configuration.connector = .webSocket
        configuration.callbackQueue = DispatchQueue(label: "kiosk.presence")
        database = try Database(configuration: configuration)
        self.name = name
    }

    /// Enters this till on each connection, and shows the tills that come and go.
    func announce() {
        let tills = database.reference(withPath: "tills")
        let entry = tills.child(name)
        database.reference(withPath: ".info/connected").observe(.value) { snapshot in
            guard snapshot.value as? Bool ?? false else { return }
            // The server knows what to do at the end before the entry is there.
            entry.onDisconnectRemoveValue()
            entry.setValue(["since": ServerValue.timestamp()])
        }
        tills.observe(.childAdded) { show("\($0.key) is in use") }
        tills.observe(.childRemoved) { show("\($0.key) is not in use") }
    }
}
