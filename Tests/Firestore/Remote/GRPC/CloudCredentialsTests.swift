import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderGRPC

@Suite("Credentials of a connection")
struct CloudCredentialsTests {
    @Test("the key file comes from the environment, a path or its text")
    func applicationDefault() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("key.json")
        try Data(try AccountKeys.keyFile().utf8).write(to: URL(fileURLWithPath: path))
        let environment = ["GOOGLE_APPLICATION_CREDENTIALS": path]
        for credentials in [
            CloudCredentials.applicationDefault(environment: environment),
            .serviceAccount(keyFile: path), try .serviceAccount(json: try AccountKeys.keyFile()),
        ] {
            let provider = try #require(try credentials.makeProvider())
            #expect(try await provider.accessToken(for: nil, forcingRefresh: true) != nil)
        }
    }

    @Test("errors of missing or malformed key files do not quote them")
    func refusals() throws {
        let none = #expect(throws: LarderError.self) {
            try CloudFirestore(CloudFirestoreConfiguration(project: "p", environment: [:]))
        }
        #expect(none?.kind == .failedPrecondition)
        let absent = #expect(throws: LarderError.self) {
            try CloudCredentials.serviceAccount(keyFile: "/nowhere/key.json").makeProvider()
        }
        #expect(absent?.kind == .notFound)
        let texts = [
            "hunter2", "[\"hunter2\"]", "{\"type\": \"service_account\"}",
            "{\"private_key\": {\"hunter2\": 1}}",
            try AccountKeys.keyFile(["type": "authorized_user"]),
            try AccountKeys.keyFile(["client_email": nil]),
            try AccountKeys.keyFile(["private_key": "hunter2"]),
            try AccountKeys.keyFile(["client_email": ""]),
            try AccountKeys.keyFile(["private_key": AccountKeys.publicKey]),
        ]
        for text in texts {
            let error = #expect(throws: LarderError.self) {
                try CloudCredentials.serviceAccount(json: text)
            }
            #expect(error?.kind == .invalidArgument)
            let told = "\(error as Any) \(String(reflecting: error)) \(error?.userInfo ?? [:])"
            #expect(!told.contains("hunter2") && !told.contains("KEY-----"))
        }
    }

    @Test("descriptions and dumps do not contain secrets")
    func secrecy() throws {
        var configuration = CloudFirestoreConfiguration(project: "p", environment: [:])
        configuration.credentials = try .serviceAccount(json: try AccountKeys.keyFile())
        let values: [Any] = [
            try CloudFirestore(configuration), configuration,
            CloudCredentials.provider { _, _ in AccessToken("hunter2") }, configuration.credentials,
        ]
        let secret = AccountKeys.privateKey.split(separator: "\n")[1]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            let told = "\(value) \(String(reflecting: value)) \(dumped)"
            #expect(!told.contains("hunter2") && !told.contains(secret), "\(type(of: value))")
        }
    }
}
