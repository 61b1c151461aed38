package import Foundation
import JWTKit
package import LarderCore

#if !Networking
    #error("this product needs the trait Networking of the package larder")
#endif

/// Signs tokens with the key of a service account, without a network.
///
/// Google's services accept a JSON web token that the account has signed itself (RS256) in place of
/// an access token.
package struct ServiceAccountTokens: AccessTokenProvider {
    private struct Claims: JWTPayload {
        var iss: String
        var sub: String
        var aud: String
        var iat: Int
        var exp: Int

        func verify(using algorithm: some JWTAlgorithm) {}
    }

    /// The longest lifetime that Google accepts.
    private static let lifetimeSeconds = 3600

    private let audience: String
    private let email: String
    private let keyID: JWKIdentifier
    private let key: Insecure.RSA.PrivateKey
    private let now: @Sendable () -> Date

    /// Tokens of an account.
    ///
    /// - Parameters:
    ///   - audience: the service that accepts the tokens, as a URL.
    ///   - errorDomain: the domain of the error that is thrown.
    /// - Throws: `invalidArgument` unless the key is an RSA key in PEM format.
    package init(
        _ account: ServiceAccount, audience: String, errorDomain: String,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(LarderError) {
        do {
            key = try Insecure.RSA.PrivateKey(pem: account.privateKey)
        } catch {
            // The library's error may quote the key.
            throw LarderError(
                .invalidArgument,
                "'private_key' in the key file of \(account.email) is not an RSA key in PEM format",
                condition: .invalidArgument, domain: errorDomain)
        }
        self.audience = audience
        email = account.email
        keyID = JWKIdentifier(string: account.keyID)
        self.now = now
    }

    package func accessToken(for userID: String?, forcingRefresh isForced: Bool) async throws
        -> AccessToken?
    {
        let time = Int(now().timeIntervalSince1970)
        let claims = Claims(
            iss: email, sub: email, aud: audience, iat: time,
            exp: time + Self.lifetimeSeconds)
        let keys = JWTKeyCollection()
        await keys.add(rsa: key, digestAlgorithm: .sha256, kid: keyID)
        let token = try await keys.sign(claims, kid: keyID)
        return AccessToken(token, lifetime: .seconds(Self.lifetimeSeconds))
    }
}

// MARK: - Key files

/// The key of a service account, as in a key file of Google's console.
package struct ServiceAccount: Sendable {
    let email: String
    let keyID: String
    /// The private key in PEM format; a secret.
    let privateKey: String

    private struct File: Decodable {
        var type: String?
        var client_email: String?
        var private_key_id: String?
        var private_key: String?
    }

    /// Reads a key file's contents.
    ///
    /// - Throws: `invalidArgument` for anything else; the error does not quote the contents.
    package init(json: Data, errorDomain: String) throws(LarderError) {
        func invalid(_ message: String) -> LarderError {
            LarderError(
                .invalidArgument, message, condition: .invalidArgument, domain: errorDomain)
        }
        let file: File
        do {
            file = try JSONDecoder().decode(File.self, from: json)
        } catch {
            // The decoder's error may quote the file.
            throw invalid("the key file is not a JSON object of strings")
        }
        guard file.type == "service_account" else {
            throw invalid("the key file is not of a service account")
        }
        guard let email = file.client_email, let keyID = file.private_key_id,
            let privateKey = file.private_key, !email.isEmpty
        else {
            throw invalid(
                "the key file lacks 'client_email', 'private_key_id' or 'private_key'")
        }
        (self.email, self.keyID, self.privateKey) = (email, keyID, privateKey)
    }
}

extension ServiceAccount: CustomStringConvertible, CustomReflectable {
    package var description: String { "ServiceAccount(\(email))" }

    /// Empty, so that dumps do not show the key.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
