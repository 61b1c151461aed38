import Larder
import LarderBackend
import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderGRPC

@Suite("Connectors: the address of the backend", .timeLimit(.minutes(10)))
struct ConnectorTests {
    private static let id = DatabaseID(project: "p", database: "second")

    private func configuration(
        host: String? = nil, isEncrypted: Bool = true, _ environment: [String: String] = [:],
        _ change: (inout CloudFirestoreConfiguration) -> Void = { _ in }
    ) -> CloudFirestoreConfiguration {
        CloudFirestoreConfiguration(
            of: RemoteConnector.Place(Self.id, host: host, isEncrypted: isEncrypted),
            environment: environment, change)
    }

    @Test("Without a word it is Cloud Firestore, with the database's names")
    func cloud() {
        let configuration = configuration()
        #expect(configuration.project == "p" && configuration.database == "second")
        #expect(configuration.host == "firestore.googleapis.com" && configuration.port == 443)
        #expect(configuration.security == .tls)
    }

    @Test("Settings go before the environment, and both before changes")
    func order() {
        let environment = ["FIRESTORE_EMULATOR_HOST": "127.0.0.1:1"]
        let emulator = configuration(environment)
        #expect(emulator.host == "127.0.0.1" && emulator.port == 1)
        let changed = configuration { $0.host = "hub.local" }
        #expect(changed.host == "hub.local" && changed.security == .tls)
        let settings = configuration(host: "[::1]:2", isEncrypted: false, environment) {
            $0.host = "hub.local"
        }
        #expect(settings.host == "::1" && settings.port == 2 && settings.security == .plainText)
        let encrypted = configuration(host: "hub.local", environment)
        #expect(encrypted.host == "hub.local" && encrypted.port == 443)
        #expect(encrypted.security == .tls)
        #expect(configuration(host: "hub.local:8443").port == 8443)
        #expect(configuration(host: "[::1]").host == "::1")
    }

    @Test("An emulator is shown no credentials")
    func owner() {
        let environment = ["FIRESTORE_EMULATOR_HOST": "127.0.0.1:1"]
        for configuration in [
            configuration(environment) { $0.credentials = .provider { _, _ in AccessToken("x") } },
            configuration(host: "127.0.0.1:1", isEncrypted: false) {
                $0.credentials = .provider { _, _ in AccessToken("x") }
            },
        ] {
            #expect("\(configuration.credentials)" == "CloudCredentials.emulatorOwner")
            #expect(configuration.security == .plainText)
        }
        let encrypted = configuration(host: "hub.local", environment) {
            $0.credentials = .provider { _, _ in AccessToken("x") }
        }
        #expect("\(encrypted.credentials)" == "CloudCredentials.provider(hidden)")
        let unchanged = configuration(host: "hub.local", environment)
        #expect("\(unchanged.credentials)" != "CloudCredentials.emulatorOwner")
    }

    @Test("useEmulator before the first use is where the shared database connects")
    func shared() async throws {
        let server = try await TestServer.started()
        let options = FirebaseOptions(projectID: TestServer.project)
        FirebaseApp.configure(name: "connector-test", options: options)
        let app = try #require(FirebaseApp.app(name: "connector-test"))
        let db = Firestore.firestore(app: app)
        let settings = FirestoreSettings()
        settings.cacheSettings = MemoryCacheSettings()
        db.settings = settings
        db.useBackend(.cloudFirestore)
        db.useEmulator(withHost: "127.0.0.1", port: server.port)
        #expect(db.networkState.reason == .notAsked)
        try await db.document("c/d").setData(["n": 1])
        #expect(try server.backend.document(at: DocumentPath("c/d")) != nil)
        #expect(server.calls.value.allSatisfy { $0.header("authorization") == ["Bearer owner"] })
        try await db.terminate()
        #expect(await app.delete())
        try await server.close()
    }

    @Test("A database of its own needs no more than a connector")
    func alone() async throws {
        let server = try await TestServer.started()
        let port = server.port
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = TestServer.project
        configuration.connector = .cloudFirestore {
            $0.useEmulator(withHost: "127.0.0.1", port: port)
        }
        let db = try Firestore(configuration: configuration)
        try await db.document("c/d").setData(["n": 1])
        #expect(try server.backend.document(at: DocumentPath("c/d")) != nil)
        try await db.terminate()
        try await server.close()
    }

    @Test("An invalid configuration is an error of opening")
    func errors() throws {
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = "p"
        configuration.connector = .cloudFirestore { $0.callTimeout = .zero }
        let error = #expect(throws: LarderError.self) {
            try Firestore(configuration: configuration)
        }
        #expect(error?.kind == .invalidArgument)
    }
}
