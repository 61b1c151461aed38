import Foundation
import JWTKit
import LarderModel

/// Signs tokens with the key of a service account, without asking anybody.
///
/// Cloud Firestore takes a JSON web token that the account has signed itself (RS256) in place of
/// an access token.
struct ServiceAccountTokens: AccessTokenProvider {
    private struct Claims: JWTPayload {
        var iss: String
        var sub: String
        var aud: String
        var iat: Int
        var exp: Int

        func verify(using algorithm: some JWTAlgorithm) {}
    }

    /// For whom the tokens are.
    static let audience = "https://firestore.googleapis.com/"
    /// As long as Google lets them be valid.
    private static let lifetimeSeconds = 3600

    private let email: String
    private let keyID: JWKIdentifier
    private let key: Insecure.RSA.PrivateKey
    private let now: @Sendable () -> Date

    /// Tokens of an account.
    ///
    /// - Throws: `invalidArgument` for a key that is no RSA key in PEM text.
    init(
        _ account: ServiceAccount, now: @escaping @Sendable () -> Date = { Date() }
    ) throws(LarderError) {
        do {
            key = try Insecure.RSA.PrivateKey(pem: account.privateKey)
        } catch {
            // The library's error may quote the key.
            throw .invalidArgument(
                "'private_key' in the key file of \(account.email) is no RSA key in PEM text")
        }
        email = account.email
        keyID = JWKIdentifier(string: account.keyID)
        self.now = now
    }

    func accessToken(for userID: String?, forcingRefresh isForced: Bool) async throws
        -> AccessToken?
    {
        let time = Int(now().timeIntervalSince1970)
        let claims = Claims(
            iss: email, sub: email, aud: Self.audience, iat: time,
            exp: time + Self.lifetimeSeconds)
        let keys = JWTKeyCollection()
        await keys.add(rsa: key, digestAlgorithm: .sha256, kid: keyID)
        let token = try await keys.sign(claims, kid: keyID)
        return AccessToken(token, lifetime: .seconds(Self.lifetimeSeconds))
    }
}
