import Foundation
import LarderCore
import LarderRealtimeBackend
import LarderSharedTestSupport
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

    @Test("a token whose times are not readable, or that is not valid yet, is refused")
    func times() {
        let check = ClientTokens(
            secret: nil, keys: nil, clock: { Timestamp(seconds: 1_700_000_000, nanoseconds: 0) }
        ).check
        for claims in [
            #""exp":"1700000010""#, #""exp":null"#, #""exp":1e300"#, #""exp":{}"#, #""nbf":"x""#,
            #""iat":true"#, #""nbf":1700000301"#,
        ] {
            guard case .invalid = check(token(#"{"sub":"ada",\#(claims)}"#)) else {
                Issue.record("\(claims) is accepted")
                continue
            }
        }
        for claims in [#""nbf":1700000300"#, #""iat":1800000000"#, #""exp":1700000010.5"#] {
            guard case .valid = check(token(#"{"sub":"ada",\#(claims)}"#)) else {
                Issue.record("\(claims) is refused")
                continue
            }
        }
    }

    @Test("characters of all planes are read, escaped or not")
    func planes() {
        var random = SeededRandom()
        let check = ClientTokens(secret: nil, keys: nil).check
        for _ in 0..<200 {
            let id = random.nameOfAllPlanes()
            guard case .valid(let user) = check(token(#"{"sub":\#(random.json(id))}"#)) else {
                Issue.record("\(random)")
                return
            }
            #expect(user.id.utf8.elementsEqual(id.utf8), "\(random)")
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
