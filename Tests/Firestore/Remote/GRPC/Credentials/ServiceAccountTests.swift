import Foundation
import JWTKit
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderGRPC

@Suite("Service accounts")
struct ServiceAccountTests {
    private struct Claims: JWTPayload, Equatable {
        var iss: String
        var sub: String
        var aud: String
        var iat: Int
        var exp: Int

        func verify(using algorithm: some JWTAlgorithm) {}
    }

    private static func keyFile(_ changes: [String: String?] = [:]) throws -> String {
        var fields: [String: String] = [
            "type": "service_account", "project_id": "p", "private_key_id": "key-1",
            "private_key": TestKeys.accountKey, "client_email": "robot@p.example",
            "client_id": "1", "token_uri": "https://example.com",
        ]
        for (name, value) in changes { fields[name] = value }
        return String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
    }

    @Test("sign tokens that the public key vouches for")
    func signing() async throws {
        let account = try ServiceAccount(json: Data(try Self.keyFile().utf8))
        let tokens = try ServiceAccountTokens(account) { Date(timeIntervalSince1970: 1_000_000.7) }
        let token = try #require(
            try await tokens.accessToken(for: "somebody", forcingRefresh: false))
        #expect(token.lifetime == .seconds(3600))

        let keys = await JWTKeyCollection().add(
            rsa: try Insecure.RSA.PublicKey(pem: TestKeys.accountPublicKey),
            digestAlgorithm: .sha256, kid: "key-1")
        let claims = try await keys.verify(token.secret, as: Claims.self)
        #expect(
            claims
                == Claims(
                    iss: "robot@p.example", sub: "robot@p.example",
                    aud: "https://firestore.googleapis.com/", iat: 1_000_000, exp: 1_003_600))
        let header = String(try #require(token.secret.split(separator: ".").first))
        let padding = String(repeating: "=", count: (4 - header.count % 4) % 4)
        let data = try #require(Data(base64Encoded: header + padding))
        let fields = try JSONDecoder().decode([String: String].self, from: data)
        #expect(fields["alg"] == "RS256" && fields["kid"] == "key-1" && fields["typ"] == "JWT")
    }

    @Test("come from the file that the environment names")
    func applicationDefault() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("key.json")
        try Data(try Self.keyFile().utf8).write(to: URL(fileURLWithPath: path))
        let environment = ["GOOGLE_APPLICATION_CREDENTIALS": path]
        for credentials in [
            CloudCredentials.applicationDefault(environment: environment),
            .serviceAccount(keyFile: path), try .serviceAccount(json: try Self.keyFile()),
        ] {
            let provider = try #require(try credentials.makeProvider())
            #expect(try await provider.accessToken(for: nil, forcingRefresh: true) != nil)
        }
    }

    @Test("that are not there, or are none, are named without what is in them")
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
            try Self.keyFile(["type": "authorized_user"]), try Self.keyFile(["client_email": nil]),
            try Self.keyFile(["private_key": "hunter2"]), try Self.keyFile(["client_email": ""]),
            try Self.keyFile(["private_key": TestKeys.accountPublicKey]),
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

    @Test("and tokens are not told by what describes or dumps values")
    func secrecy() throws {
        let account = try ServiceAccount(json: Data(try Self.keyFile().utf8))
        var configuration = CloudFirestoreConfiguration(project: "p", environment: [:])
        configuration.credentials = try .serviceAccount(json: try Self.keyFile())
        let values: [Any] = [
            AccessToken("hunter2"), account, try CloudFirestore(configuration), configuration,
            CloudCredentials.provider { _, _ in AccessToken("hunter2") }, configuration.credentials,
            [AccessToken("hunter2")], try ServiceAccountTokens(account),
        ]
        let secret = TestKeys.accountKey.split(separator: "\n")[1]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            let told = "\(value) \(String(reflecting: value)) \(dumped)"
            #expect(!told.contains("hunter2") && !told.contains(secret), "\(type(of: value))")
        }
    }
}
