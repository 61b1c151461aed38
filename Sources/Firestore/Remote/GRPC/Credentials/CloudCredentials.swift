import Foundation
public import LarderModel

/// As whom a host is asked.
public struct CloudCredentials: Sendable {
    private enum Source: Sendable {
        case none
        case emulatorOwner
        case provider(any AccessTokenProvider)
        case keyFile(String)
        case applicationDefault([String: String])
    }

    private static let keyFileVariable = "GOOGLE_APPLICATION_CREDENTIALS"

    private let source: Source

    /// As nobody: for a host that asks for no proof.
    public static let none = CloudCredentials(source: .none)

    /// As the owner of an emulator, to whom its rules do not apply.
    public static let emulatorOwner = CloudCredentials(source: .emulatorOwner)

    /// As the service account whose key file the variable `GOOGLE_APPLICATION_CREDENTIALS` names.
    public static func applicationDefault(environment: [String: String]) -> CloudCredentials {
        CloudCredentials(source: .applicationDefault(environment))
    }

    /// As the service account of a key file, which is read when the connection is made.
    ///
    /// Tokens are signed here, with the account's RSA key; nobody is asked for them.
    public static func serviceAccount(keyFile path: String) -> CloudCredentials {
        CloudCredentials(source: .keyFile(path))
    }

    /// As the service account of a key file's contents.
    ///
    /// - Throws: `invalidArgument` for anything but the JSON text of a service account's key.
    public static func serviceAccount(json: String) throws(LarderError) -> CloudCredentials {
        let account = try ServiceAccount(json: Data(json.utf8))
        return .provider(try ServiceAccountTokens(account))
    }

    /// As whoever a provider gives tokens for.
    public static func provider(_ provider: any AccessTokenProvider) -> CloudCredentials {
        CloudCredentials(source: .provider(provider))
    }

    /// As whoever a closure gives tokens for; see ``AccessTokenProvider``.
    public static func provider(
        _ body:
            @escaping @Sendable (_ userID: String?, _ isForced: Bool) async throws ->
            AccessToken?
    ) -> CloudCredentials {
        .provider(ClosureTokenProvider(body: body))
    }

    /// What gives the tokens; nil where there are none.
    func makeProvider() throws(LarderError) -> (any AccessTokenProvider)? {
        switch source {
        case .none: return nil
        case .emulatorOwner: return ClosureTokenProvider { _, _ in AccessToken("owner") }
        case .provider(let provider): return provider
        case .keyFile(let path): return try Self.tokens(keyFile: path)
        case .applicationDefault(let environment):
            guard let path = environment[Self.keyFileVariable], !path.isEmpty else {
                throw LarderError(
                    .failedPrecondition,
                    "there are no credentials: set \(Self.keyFileVariable), or choose others")
            }
            return try Self.tokens(keyFile: path)
        }
    }

    private static func tokens(keyFile path: String) throws(LarderError)
        -> any AccessTokenProvider
    {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw LarderError(.notFound, "the key file '\(path)' cannot be read")
        }
        return try ServiceAccountTokens(try ServiceAccount(json: data))
    }
}

extension CloudCredentials: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Which kind they are, without a secret.
    public var description: String {
        switch source {
        case .none: "CloudCredentials.none"
        case .emulatorOwner: "CloudCredentials.emulatorOwner"
        case .provider: "CloudCredentials.provider(hidden)"
        case .keyFile(let path): "CloudCredentials.serviceAccount(keyFile: \(path))"
        case .applicationDefault: "CloudCredentials.applicationDefault"
        }
    }

    /// Which kind they are, without a secret.
    public var debugDescription: String { description }

    /// Nothing: what dumps values does not see secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
