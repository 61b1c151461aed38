import Foundation
import JWTKit
import LarderCore
import LarderRealtimeBackend
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeServer

/// The claims of a token that a test signs.
struct TestClaims: JWTPayload {
    var iss: String?
    var aud: String?
    var sub: String?
    var uid: String?
    var user_id: String?
    var iat: Int?
    var nbf: Int?
    var exp: Int? = 1_700_003_600
    var claims: [String: String]?

    func verify(using algorithm: some JWTAlgorithm) {}
}

@Suite("Realtime: keys of tokens")
struct AuthKeysTests {
    private let directory: TemporaryDirectory
    private let curve = ES256PrivateKey()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func file(_ name: String, _ text: String) throws -> String {
        let path = directory.file(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// A set with the key of the curve, without its algorithm.
    private func keySet(_ id: String = "one") throws -> String {
        let point = try #require(curve.publicKey.parameters)
        return
            #"{"keys":[{"kty":"EC","crv":"P-256","kid":"\#(id)","x":"\#(point.x)","y":"\#(point.y)"}]}"#
    }

    private func checks(_ files: String..., project: String? = nil) async throws -> ClientTokens {
        ClientTokens(
            secret: "secret", keys: try await AuthKeys(files: files, project: project),
            clock: { Timestamp(seconds: 1_700_000_000, nanoseconds: 0) })
    }

    private func signed(_ claims: TestClaims, id: String? = "one") async throws -> String {
        let keys = JWTKeyCollection()
        await keys.add(ecdsa: curve)
        return try await keys.sign(claims, header: id.map { ["kid": .string($0)] } ?? [:])
    }

    private func rsaSigned(_ claims: TestClaims, id: String? = nil) async throws -> String {
        let keys = JWTKeyCollection()
        await keys.add(
            rsa: try Insecure.RSA.PrivateKey(pem: TestKeys.serverKey), digestAlgorithm: .sha256)
        return try await keys.sign(claims, header: id.map { ["kid": .string($0)] } ?? [:])
    }

    private func uid(_ decision: RealtimeBackend.TokenDecision) -> String {
        switch decision {
        case .valid(let user): user.isAdministrator ? "administrator" : user.id
        case .expired: "expired"
        case .invalid(let reason): reason
        }
    }

    @Test("a token that a key of a set has signed is that of its user")
    func keySets() async throws {
        let tokens = try await checks(try file("set", try keySet()))
        let text = try await signed(TestClaims(sub: "ada"))
        let user = try RealtimeUser(
            id: "ada", claims: #"{"sub":"ada","exp":1700003600}"#,
            expiration: Timestamp(seconds: 1_700_003_600, nanoseconds: 0))
        guard case .valid(let found) = tokens.check(text) else {
            Issue.record("\(tokens.check(text))")
            return
        }
        #expect(found.id == user.id && found.expiration == user.expiration)
        #expect(uid(tokens.check(try await signed(TestClaims(sub: "eve"), id: nil))) == "eve")
        #expect(uid(tokens.check("secret")) == "administrator")
        let unknown = "the token is not signed by a key of this server"
        #expect(uid(tokens.check(try await signed(TestClaims(sub: "ada"), id: "two"))) == unknown)
        #expect(uid(tokens.check(try await rsaSigned(TestClaims(sub: "ada")))) == unknown)
    }

    @Test("keys are also certificates and public keys in PEM, with IDs or without")
    func pem() async throws {
        let certificate = TestKeys.serverCertificate
        let escaped = certificate.replacing("\n", with: "\\n")
        let curveKey = curve.publicKey.pemRepresentation
        for tokens in [
            try await checks(try file("pem", certificate)),
            try await checks(try file("both", "x\n" + curveKey + "\n" + certificate + "\n")),
            try await checks(try file("map", "\n{\"id\":\"\(escaped)\"}")),
        ] {
            #expect(uid(tokens.check(try await rsaSigned(TestClaims(sub: "ada")))) == "ada")
            #expect(
                uid(tokens.check(try await rsaSigned(TestClaims(sub: "ada"), id: "id"))) == "ada")
        }
        let tokens = try await checks(
            try file("curve", curveKey), try file("map", "{\"id\":\"\(escaped)\"}"))
        #expect(uid(tokens.check(try await signed(TestClaims(sub: "eve"), id: "any"))) == "eve")
        #expect(
            uid(tokens.check(try await rsaSigned(TestClaims(sub: "ada"), id: "other"))) != "ada")
    }

    @Test("altered tokens, and those of another algorithm, are refused")
    func forgeries() async throws {
        let tokens = try await checks(try file("set", try keySet()))
        let text = try await signed(TestClaims(sub: "ada"))
        let parts = text.split(separator: ".").map(String.init)
        let other = try await signed(TestClaims(sub: "eve")).split(separator: ".").map(String.init)
        func base64(_ text: String) -> String {
            Data(text.utf8).base64EncodedString().replacing("=", with: "")
        }
        let header = base64(#"{"alg":"none","kid":"one"}"#)
        let symmetric = base64(#"{"alg":"HS256","kid":"one"}"#)
        for forged in [
            "\(parts[0]).\(other[1]).\(parts[2])", "\(header).\(parts[1]).",
            "\(header).\(parts[1]).\(parts[2])", "\(symmetric).\(parts[1]).\(parts[2])",
            "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", "\(text).x", "owner", "",
            "\(base64(#"{"kid":"one"}"#)).\(parts[1]).\(parts[2])",
        ] {
            guard case .invalid = tokens.check(forged) else {
                Issue.record("\(forged) is accepted")
                continue
            }
        }
    }

    @Test("times and issuers are checked")
    func claims() async throws {
        let path = try file("set", try keySet())
        let (plain, project) = (try await checks(path), try await checks(path, project: "demo"))
        let google = "https://securetoken.google.com/demo"
        let cases: [(TestClaims, String, String)] = [
            (TestClaims(exp: nil), "the token does not say when it expires", ""),
            (TestClaims(sub: "a", iat: 1_700_000_301), "the token is not valid yet", ""),
            (TestClaims(sub: "a", nbf: 1_700_000_301), "the token is not valid yet", ""),
            (TestClaims(sub: "a", iat: 1_700_000_300), "a", ""),
            (TestClaims(), "the token names no user", ""),
            (
                TestClaims(iss: google, aud: "demo", sub: "a"), "the server has no --auth-project",
                "a"
            ),
            (
                TestClaims(iss: google, aud: "x", sub: "a"), "the server has no --auth-project",
                "the token is of another project than 'demo'"
            ),
            (
                TestClaims(iss: google + "2", aud: "demo", sub: "a"),
                "the server has no --auth-project", "the token is of another project than 'demo'"
            ),
            (TestClaims(iss: "me@x", aud: "y", sub: "me@x", uid: "u"), "u", ""),
        ]
        for (claims, expected, withProject) in cases {
            let token = try await signed(claims)
            #expect(uid(plain.check(token)) == expected)
            #expect(uid(project.check(token)) == (withProject.isEmpty ? expected : withProject))
        }
    }

    @Test("the claims of custom tokens are those of the user")
    func customClaims() async throws {
        let tokens = try await checks(try file("set", try keySet()))
        let token = try await signed(
            TestClaims(iss: "me", sub: "me", uid: "u", claims: ["role": "editor", "sub": "own"]))
        guard case .valid(let user) = tokens.check(token) else {
            Issue.record("\(tokens.check(token))")
            return
        }
        let claims = user.authentication["token"]
        #expect(claims?["role"] == .string("editor") && claims?["sub"] == .string("own"))
        #expect(claims?["claims"] == nil && user.id == "u")
    }

    @Test("files are read again when they change; unreadable ones leave the keys as they are")
    func refresh() async throws {
        let path = try file("set", try keySet("old"))
        let keys = try await AuthKeys(files: [path], project: nil)
        let tokens = ClientTokens(secret: nil, keys: keys)
        let claims = TestClaims(sub: "ada", exp: 4_000_000_000)
        let (old, new) = (try await signed(claims, id: "old"), try await signed(claims, id: "new"))
        #expect(uid(tokens.check(old)) == "ada" && uid(tokens.check(new)) != "ada")
        _ = try file("set", "{}")
        await #expect(throws: LarderError.self) { try await keys.refresh() }
        #expect(uid(tokens.check(old)) == "ada")
        _ = try file("set", try keySet("new"))
        try await keys.refresh()
        #expect(uid(tokens.check(old)) != "ada" && uid(tokens.check(new)) == "ada")
    }

    @Test(
        "files without keys are refused",
        arguments: [
            "", "x", "{", "{}", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","k":"eA","kid":"a"}]}"#,
            #"{"keys":[1]}"#, #"{"a":"b"}"#,
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
            #"{"keys":[{"kty":"RSA","kid":"a"}]}"#,
        ])
    func damage(text: String) async throws {
        let path = try file("keys", text)
        let error = await #expect(throws: LarderError.self) {
            try await AuthKeys(files: [path], project: nil)
        }
        #expect(error?.kind == .invalidArgument)
        await #expect(throws: LarderError.self) {
            try await AuthKeys(files: [path + ".missing"], project: nil)
        }
    }
}
