import Foundation
import LarderModel
public import LarderRemote

extension RemoteConnector {
    /// Connects databases to Cloud Firestore, or to the emulator that their settings or
    /// `FIRESTORE_EMULATOR_HOST` name.
    ///
    /// ```swift
    /// let db = Firestore.firestore()
    /// db.useBackend(.cloudFirestore)
    /// ```
    ///
    /// The project and the database's name are those of the database; the credentials those of
    /// ``LarderGRPC/CloudCredentials/applicationDefault(environment:)``.
    public static var cloudFirestore: RemoteConnector { cloudFirestore { _ in } }

    /// As ``cloudFirestore``, with changes such as other credentials.
    ///
    /// Where `FIRESTORE_EMULATOR_HOST` or the database's settings name an emulator, it is asked
    /// there and as its owner, whatever the changes are: it is shown no credentials.
    ///
    /// - Parameter change: called whenever a database opens.
    public static func cloudFirestore(
        _ change: @escaping @Sendable (inout CloudFirestoreConfiguration) -> Void
    ) -> RemoteConnector {
        RemoteConnector { (place) throws(LarderError) in
            try CloudFirestore(CloudFirestoreConfiguration(of: place, change)).connection
        }
    }
}

extension CloudFirestoreConfiguration {
    /// The connection that a database's settings ask for.
    ///
    /// The settings go before the environment, and both before the changes.
    init(
        of place: RemoteConnector.Place,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        _ change: (inout CloudFirestoreConfiguration) -> Void
    ) {
        var environment = environment
        // Another host, which is shown credentials.
        if place.host != nil, place.isEncrypted { environment[Self.emulatorVariable] = nil }
        self.init(
            project: place.database.project, database: place.database.database,
            environment: environment)
        let emulator = security == .plainText ? HostAddress(host: host, port: port) : nil
        change(&self)
        if let address = place.host.map({ HostAddress($0) }) {
            if place.isEncrypted {
                (host, port) = (address.host, address.port == 0 ? Self.cloudPort : address.port)
                if security == .plainText { security = .tls }
            } else {
                useEmulator(withHost: address.host, port: address.port)
            }
        } else if let emulator {
            useEmulator(withHost: emulator.host, port: emulator.port)
        }
    }
}
