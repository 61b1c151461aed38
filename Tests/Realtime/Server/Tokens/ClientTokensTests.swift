import Foundation
import LarderCore
import LarderRealtimeBackend
import Testing

@testable import LarderRealtimeServer

@Suite("Realtime: tokens of clients")
struct ClientTokensTests {
    private func token(_ claims: String) -> String {
        let part = Data(claims.utf8).base64EncodedString().replacing("+", with: "-")
            .replacing("/", with: "_").replacing("=", with: "")
        return "eyJhbGciOiJub25lIn0.\(part)."
    }

    @Test("an emulator's tokens are those of the owner, and of users without a signature")
    func emulator() throws {
        let check = ClientTokens(secret: nil, keys: nil).check
        #expect(check("owner") == .valid(.administrator))
        let claims =
            #"{"sub":"ada","exp":1700000000,"role":"ü>?","firebase":{"sign_in_provider":"password"}}"#
        let user = try RealtimeUser(
            id: "ada", provider: "password", claims: claims,
            expiration: Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
        #expect(check(token(claims)) == .valid(user))
        #expect(check(token(#"{"uid":"u","sub":"s"}"#)) != check(token(#"{"sub":"s"}"#)))
        for text in ["", "x", "a.b.c", token("[]"), token("{}"), token("{"), token(#"{"sub":7}"#)] {
            guard case .invalid = check(text) else {
                Issue.record("'\(text)' is accepted")
                continue
            }
        }
    }

    @Test("with a secret nothing else is valid")
    func secret() {
        let check = ClientTokens(secret: "secret", keys: nil).check
        #expect(check("secret") == .valid(.administrator))
        for text in ["owner", "", "Secret", "secret ", token(#"{"sub":"ada"}"#)] {
            #expect(check(text) == .invalid(reason: "the token is wrong"))
        }
    }
}
