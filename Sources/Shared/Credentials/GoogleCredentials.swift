package import Foundation
package import LarderCore

/// The identity of a program for Google's services, as Google's own libraries find it.
///
/// The first of these: the file that `GOOGLE_APPLICATION_CREDENTIALS` names; the file that
/// `gcloud auth application-default login` writes; the metadata server of a machine or service in
/// Google's cloud.
package struct GoogleCredentials: Sendable {
    /// The scope of tokens, which leaves it to roles what they permit.
    static let scope = "https://www.googleapis.com/auth/cloud-platform"

    /// The service that signs for impersonated accounts, as the audience of a signed token.
    private static let impersonationAudience = "https://iamcredentials.googleapis.com/"

    private static let fileVariable = "GOOGLE_APPLICATION_CREDENTIALS"

    private let audience: String
    private let environment: TokenEnvironment

    /// Credentials for a service.
    ///
    /// - Parameter audience: the service that accepts tokens which a service account has signed.
    package init(audience: String, environment: TokenEnvironment) {
        self.audience = audience
        self.environment = environment
    }

    // MARK: Application default

    /// The provider of a program that names no credentials.
    ///
    /// Blocks on disk I/O.
    ///
    /// - Parameter variables: the environment variables.
    /// - Throws: `failedPrecondition` if there are no credentials; as ``provider(keyFile:)``.
    package func applicationDefault(
        _ variables: [String: String]
    ) throws(LarderError) -> any AccessTokenProvider {
        func variable(_ name: String) -> String? {
            variables[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        if let path = variable(Self.fileVariable) { return try provider(keyFile: path) }
        let folder =
            variable("CLOUDSDK_CONFIG") ?? variable("HOME").map { $0 + "/.config/gcloud" }
        if let folder,
            let json = environment.readFile(folder + "/application_default_credentials.json")
        {
            return try provider(json: json)
        }
        if let host = variable("GCE_METADATA_HOST") {
            return MetadataTokens(host: host, environment: environment)
        }
        guard isInGooglesCloud(variable) else {
            throw environment.error(
                .failedPrecondition,
                """
                no credentials: set \(Self.fileVariable), run 'gcloud auth application-default \
                login', or configure other credentials
                """)
        }
        return MetadataTokens(host: "metadata.google.internal", environment: environment)
    }

    /// True on virtual machines, whose firmware says so, and in services, which set variables.
    private func isInGooglesCloud(_ variable: (String) -> String?) -> Bool {
        let services = ["K_SERVICE", "CLOUD_RUN_JOB", "FUNCTION_TARGET", "GAE_SERVICE"]
        if services.contains(where: { variable($0) != nil }) { return true }
        let product = environment.readFile("/sys/class/dmi/id/product_name")
        return product.map { String(decoding: $0, as: UTF8.self).hasPrefix("Google") } ?? false
    }

    // MARK: Files

    /// The provider that a file describes.
    ///
    /// Blocks on disk I/O.
    ///
    /// - Throws: `notFound` if it cannot be read; `invalidArgument` for anything but the JSON of
    ///   credentials; `unimplemented` for kinds that are not supported. Errors do not quote the
    ///   file.
    package func provider(keyFile path: String) throws(LarderError) -> any AccessTokenProvider {
        guard let json = environment.readFile(path) else {
            throw environment.error(.notFound, "the key file '\(path)' cannot be read")
        }
        return try provider(json: json)
    }

    /// The provider that the JSON of credentials describes.
    ///
    /// - Throws: as ``provider(keyFile:)``.
    package func provider(json: Data) throws(LarderError) -> any AccessTokenProvider {
        try provider(json: json, audience: audience)
    }

    private struct Kind: Decodable {
        var type: String?
    }

    private struct Impersonation: Decodable {
        var service_account_impersonation_url: String?
        var delegates: [String]?
    }

    private func provider(
        json: Data, audience: String, isSource: Bool = false
    ) throws(LarderError) -> any AccessTokenProvider {
        switch try decoded(Kind.self, json).type {
        case "authorized_user":
            return RefreshTokens(
                account: try decoded(RefreshTokens.Account.self, json), environment: environment)
        case "external_account":
            let account = try decoded(ExchangedTokens.Account.self, json)
            guard account.credential_source.file != nil || account.credential_source.url != nil
            else {
                throw environment.error(
                    .unimplemented,
                    "of external accounts, only those with tokens in files or at URLs are supported"
                )
            }
            let tokens = ExchangedTokens(account: account, environment: environment)
            let impersonation = try decoded(Impersonation.self, json)
            guard let url = impersonation.service_account_impersonation_url else { return tokens }
            return ImpersonatedTokens(
                url: url, delegates: impersonation.delegates ?? [], source: tokens,
                environment: environment)
        case "impersonated_service_account" where !isSource:
            return try impersonated(json)
        default:
            return try ServiceAccountTokens(
                try ServiceAccount(json: json, errorDomain: environment.errorDomain),
                audience: audience, errorDomain: environment.errorDomain, now: environment.now)
        }
    }

    private func impersonated(_ json: Data) throws(LarderError) -> any AccessTokenProvider {
        let impersonation = try decoded(Impersonation.self, json)
        let object = try? JSONSerialization.jsonObject(with: json) as? [String: Any]
        guard let url = impersonation.service_account_impersonation_url,
            let source = object?["source_credentials"] as? [String: Any],
            let sourceJSON = try? JSONSerialization.data(withJSONObject: source)
        else {
            throw invalid(
                "lacks 'service_account_impersonation_url' or the object 'source_credentials'")
        }
        return ImpersonatedTokens(
            url: url, delegates: impersonation.delegates ?? [],
            source: try provider(
                json: sourceJSON, audience: Self.impersonationAudience, isSource: true),
            environment: environment)
    }

    /// The values of a file.
    ///
    /// The decoder's own error may quote the file, and is not passed on.
    private func decoded<T: Decodable>(_ type: T.Type, _ json: Data) throws(LarderError) -> T {
        do {
            return try JSONDecoder().decode(type, from: json)
        } catch DecodingError.keyNotFound(let key, _) {
            throw invalid("lacks '\(key.stringValue)'")
        } catch {
            throw invalid("is not a JSON object of the expected form")
        }
    }

    private func invalid(_ what: String) -> LarderError {
        LarderError(
            .invalidArgument, "the key file \(what)", condition: .invalidArgument,
            domain: environment.errorDomain)
    }
}
