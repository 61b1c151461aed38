import Foundation
public import LarderCredentials
public import LarderModel

/// The identity of a client of a host.
public struct CloudCredentials: Sendable {
    private enum Source: Sendable {
        case none
        case emulatorOwner
        case provider(any AccessTokenProvider)
        case keyFile(String)
        case applicationDefault([String: String])
    }

    /// The service that accepts the tokens of service accounts.
    private static let audience = "https://firestore.googleapis.com/"

    private let source: Source

    /// No identity: for a host that requires no authentication.
    public static let none = CloudCredentials(source: .none)

    /// The owner of an emulator, who bypasses security rules.
    public static let emulatorOwner = CloudCredentials(source: .emulatorOwner)

    /// The identity that Google's own libraries would find.
    ///
    /// The first of these, looked for when the connection is created:
    /// - the file that `GOOGLE_APPLICATION_CREDENTIALS` names,
    /// - `application_default_credentials.json` in `CLOUDSDK_CONFIG`, by default
    ///   `~/.config/gcloud`, which `gcloud auth application-default login` writes,
    /// - the service account of the virtual machine or the service in Google's cloud, from its
    ///   metadata server (`GCE_METADATA_HOST` names another).
    ///
    /// A file contains a service account's key, the account of a person who has signed in, an
    /// external account (workload identity federation, with tokens in files or at URLs; not those
    /// of AWS and of programs), or a service account to impersonate. Without any of them, creating
    /// the connection fails with `failedPrecondition`.
    public static func applicationDefault(environment: [String: String]) -> CloudCredentials {
        CloudCredentials(source: .applicationDefault(environment))
    }

    /// The service account of a key file, which is read when the connection is created.
    ///
    /// Tokens are signed locally with the account's RSA key. Files of the other kinds that
    /// ``applicationDefault(environment:)`` lists are accepted as well.
    public static func serviceAccount(keyFile path: String) -> CloudCredentials {
        CloudCredentials(source: .keyFile(path))
    }

    /// The service account of a key file's contents.
    ///
    /// - Throws: `invalidArgument` unless the text is the JSON of a service account's key.
    public static func serviceAccount(json: String) throws(LarderError) -> CloudCredentials {
        .provider(try tokens(Data(json.utf8)))
    }

    /// The users of a provider's tokens.
    public static func provider(_ provider: any AccessTokenProvider) -> CloudCredentials {
        CloudCredentials(source: .provider(provider))
    }

    /// The users of a closure's tokens; see `AccessTokenProvider`.
    public static func provider(
        _ body:
            @escaping @Sendable (_ userID: String?, _ isForced: Bool) async throws ->
            AccessToken?
    ) -> CloudCredentials {
        .provider(ClosureTokenProvider(body: body))
    }

    /// The provider of tokens; nil without an identity.
    func makeProvider() throws(LarderError) -> (any AccessTokenProvider)? {
        switch source {
        case .none: return nil
        case .emulatorOwner: return ClosureTokenProvider { _, _ in AccessToken("owner") }
        case .provider(let provider): return provider
        case .keyFile(let path): return try Self.google.provider(keyFile: path)
        case .applicationDefault(let variables):
            return try Self.google.applicationDefault(variables)
        }
    }

    private static let google = GoogleCredentials(
        audience: audience, environment: TokenClient.environment)

    private static func tokens(_ keyFile: Data) throws(LarderError) -> ServiceAccountTokens {
        try ServiceAccountTokens(
            try ServiceAccount(json: keyFile, errorDomain: LarderError.firestoreDomain),
            audience: audience, errorDomain: LarderError.firestoreDomain)
    }
}

extension CloudCredentials: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The kind of credentials, without secrets.
    public var description: String {
        switch source {
        case .none: "CloudCredentials.none"
        case .emulatorOwner: "CloudCredentials.emulatorOwner"
        case .provider: "CloudCredentials.provider(hidden)"
        case .keyFile(let path): "CloudCredentials.serviceAccount(keyFile: \(path))"
        case .applicationDefault: "CloudCredentials.applicationDefault"
        }
    }

    /// The kind of credentials, without secrets.
    public var debugDescription: String { description }

    /// Empty, so that dumps do not show secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
