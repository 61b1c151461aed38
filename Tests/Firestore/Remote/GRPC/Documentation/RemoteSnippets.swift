import Larder
import LarderGRPC
import LarderLifecycle
import Logging
import ServiceLifecycle

/// The code in the articles of LarderGRPC.
enum RemoteSnippets {
    /// Whatever an application has its users' tokens from.
    protocol Session: Sendable {
        func idToken(of userID: String, isFresh: Bool) async throws -> String
    }

    static func open(_ directory: String) throws -> Firestore {
        // snippet: open-cloud
        let cloud = try CloudFirestore(CloudFirestoreConfiguration(project: "cities"))
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.project = "cities"
        configuration.backend = cloud.connection
        let db = try Firestore(configuration: configuration)
        // end
        return db
    }

    static func useShared() {
        // snippet: shared-database
        let db = Firestore.firestore()
        db.useBackend(.cloudFirestore)
        // end

        // snippet: shared-emulator
        db.useEmulator(withHost: "localhost", port: 8080)
        // end
    }

    static func useConnector(_ directory: String) throws -> Firestore {
        // snippet: connector
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.project = "cities"
        configuration.connector = .cloudFirestore {
            $0.credentials = .serviceAccount(keyFile: "/etc/cities/key.json")
        }
        let db = try Firestore(configuration: configuration)
        // end
        return db
    }

    static func useLocalServer() throws -> CloudFirestore {
        // snippet: local-server
        var local = CloudFirestoreConfiguration(project: "cities")
        local.useEmulator(withHost: "localhost", port: 8080)
        let cloud = try CloudFirestore(local)
        // end
        return cloud
    }

    static func useCloud(_ session: any Session) -> CloudFirestoreConfiguration {
        // snippet: service-account
        var google = CloudFirestoreConfiguration(project: "cities")
        google.credentials = .serviceAccount(keyFile: "/etc/cities/key.json")
        // end

        // snippet: token-provider
        google.credentials = .provider { userID, isForced in
            guard let userID else { return nil }
            let token = try await session.idToken(of: userID, isFresh: isForced)
            return AccessToken(token, lifetime: .seconds(3600))
        }
        // end
        return google
    }

    static func useHub(_ hubToken: String) -> CloudFirestoreConfiguration {
        // snippet: hub
        var hub = CloudFirestoreConfiguration(project: "cities", environment: [:])
        hub.host = "hub.local"
        hub.port = 8443
        hub.security = .tlsTrusting(certificateFiles: ["/etc/cities/hub.pem"])
        hub.credentials = .provider { _, _ in AccessToken(hubToken) }
        // end
        return hub
    }

    static func serve(_ cloud: CloudFirestore, _ db: Firestore, _ logger: Logger) async throws {
        // snippet: service-group
        let group = ServiceGroup(services: [cloud, db], logger: logger)
        try await group.run()
        // end
    }
}
