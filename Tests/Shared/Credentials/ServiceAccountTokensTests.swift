import Foundation
import JWTKit
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderCredentials

@Suite("Tokens of service accounts")
struct ServiceAccountTokensTests {
    private struct Claims: JWTPayload, Equatable {
        var iss: String
        var sub: String
        var aud: String
        var iat: Int
        var exp: Int

        func verify(using algorithm: some JWTAlgorithm) {}
    }

    @Test("a token is signed with the account's key")
    func signing() async throws {
        let account = try ServiceAccount(
            json: Data(try AccountKeys.keyFile().utf8), errorDomain: LarderError.sharedDomain)
        let tokens = try ServiceAccountTokens(
            account, audience: "https://example.com/",
            errorDomain: LarderError.sharedDomain
        ) {
            Date(timeIntervalSince1970: 1_000_000.7)
        }
        let token = try #require(
            try await tokens.accessToken(for: "somebody", forcingRefresh: false))
        #expect(token.lifetime == .seconds(3600))

        let keys = await JWTKeyCollection().add(
            rsa: try Insecure.RSA.PublicKey(pem: AccountKeys.publicKey),
            digestAlgorithm: .sha256, kid: "key-1")
        let claims = try await keys.verify(token.secret, as: Claims.self)
        #expect(
            claims
                == Claims(
                    iss: "robot@p.example", sub: "robot@p.example",
                    aud: "https://example.com/", iat: 1_000_000, exp: 1_003_600))
        let header = String(try #require(token.secret.split(separator: ".").first))
        let padding = String(repeating: "=", count: (4 - header.count % 4) % 4)
        let data = try #require(Data(base64Encoded: header + padding))
        let fields = try JSONDecoder().decode([String: String].self, from: data)
        #expect(fields["alg"] == "RS256" && fields["kid"] == "key-1" && fields["typ"] == "JWT")
    }

    @Test("descriptions and dumps do not contain keys and tokens")
    func secrecy() throws {
        let account = try ServiceAccount(
            json: Data(try AccountKeys.keyFile().utf8), errorDomain: LarderError.sharedDomain)
        let secret = AccountKeys.privateKey.split(separator: "\n")[1]
        let values: [Any] = [
            AccessToken("hunter2"), account, [AccessToken("hunter2")],
            try ServiceAccountTokens(
                account, audience: "https://example.com/",
                errorDomain: LarderError.sharedDomain),
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            let text = "\(value) \(String(reflecting: value)) \(dumped)"
            #expect(!text.contains("hunter2") && !text.contains(secret), "\(type(of: value))")
        }
    }
}
