import LarderModel
import Testing

@testable import LarderGRPC

@Suite struct CloudFirestoreConfigurationTests {
    @Test("a configuration is for Cloud Firestore unless it is said otherwise")
    func cloud() {
        let configuration = CloudFirestoreConfiguration(project: "p", environment: [:])
        #expect(configuration.host == "firestore.googleapis.com" && configuration.port == 443)
        #expect(configuration.security == .tls && configuration.database == "(default)")
        #expect("\(configuration.credentials)" == "CloudCredentials.applicationDefault")
    }

    @Test(
        "the environment names an emulator",
        arguments: [
            ("localhost:8080", "localhost", 8080), ("127.0.0.1:1", "127.0.0.1", 1),
            ("[::1]:8080", "::1", 8080), ("emulator.example:65535", "emulator.example", 65535),
        ])
    func emulator(text: String, host: String, port: Int) throws {
        let configuration = CloudFirestoreConfiguration(
            project: "p", environment: ["FIRESTORE_EMULATOR_HOST": text])
        #expect(configuration.host == host && configuration.port == port)
        #expect(configuration.security == .plainText)
        #expect("\(configuration.credentials)" == "CloudCredentials.emulatorOwner")
        _ = try CloudFirestore(configuration)
    }

    @Test(
        "an emulator's address that is none is an error, not Cloud Firestore",
        arguments: ["localhost", ":8080", "localhost:x", "localhost:0", "localhost:70000"])
    func noEmulator(text: String) {
        let configuration = CloudFirestoreConfiguration(
            project: "p", environment: ["FIRESTORE_EMULATOR_HOST": text])
        let error = #expect(throws: LarderError.self) { try CloudFirestore(configuration) }
        #expect(error?.kind == .invalidArgument)
    }

    @Test("an invalid configuration is refused")
    func nonsense() {
        let changes: [@Sendable (inout CloudFirestoreConfiguration) -> Void] = [
            { $0.project = "" }, { $0.project = "a/b" }, { $0.database = "a\nb" },
            { $0.project = String(repeating: "x", count: 257) }, { $0.host = "" },
            { $0.port = -1 }, { $0.maxMessageBytes = 0 }, { $0.callTimeout = .zero },
            { $0.keepaliveInterval = .zero }, { $0.connectTimeout = .zero },
        ]
        for change in changes {
            var configuration = CloudFirestoreConfiguration(project: "p", environment: [:])
            configuration.useEmulator(withHost: "localhost", port: 1)
            change(&configuration)
            let error = #expect(throws: LarderError.self) { try CloudFirestore(configuration) }
            #expect(error?.kind == .invalidArgument)
        }
    }
}
