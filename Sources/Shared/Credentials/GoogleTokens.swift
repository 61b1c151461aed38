import Foundation
import LarderCore

/// Tokens of the service account of a machine or service in Google's cloud, from its metadata
/// server.
struct MetadataTokens: AccessTokenProvider {
    /// The server's name or address, with a port if it is not 80.
    let host: String
    let environment: TokenEnvironment

    func accessToken(
        for userID: String?, forcingRefresh isForced: Bool
    ) async throws -> AccessToken? {
        try await environment.token(
            of: TokenRequest(
                url: "http://\(host)/computeMetadata/v1/instance/service-accounts/default/token",
                headers: ["Metadata-Flavor": "Google"]))
    }
}

/// Tokens of a person who has signed in, as with gcloud, by a refresh token.
struct RefreshTokens: AccessTokenProvider {
    /// The secrets of a file.
    struct Account: Decodable, Sendable {
        var client_id: String
        var client_secret: String
        var refresh_token: String
        var token_uri: String?
    }

    let account: Account
    let environment: TokenEnvironment

    func accessToken(
        for userID: String?, forcingRefresh isForced: Bool
    ) async throws -> AccessToken? {
        try await environment.token(
            of: TokenRequest(
                url: account.token_uri ?? "https://oauth2.googleapis.com/token",
                form: [
                    ("grant_type", "refresh_token"), ("client_id", account.client_id),
                    ("client_secret", account.client_secret),
                    ("refresh_token", account.refresh_token),
                ]))
    }
}

/// Tokens in exchange for those of another identity provider: workload identity federation.
struct ExchangedTokens: AccessTokenProvider {
    /// What a file says about the exchange.
    struct Account: Decodable, Sendable {
        var audience: String
        var subject_token_type: String
        var token_url: String
        var credential_source: Source
        var client_id: String?
        var client_secret: String?
    }

    /// Where the other provider's token is: in a file or at an address.
    struct Source: Decodable, Sendable {
        struct Format: Decodable, Sendable {
            var type: String?
            var subject_token_field_name: String?
        }

        var file: String?
        var url: String?
        var headers: [String: String]?
        var format: Format?
    }

    let account: Account
    let environment: TokenEnvironment

    func accessToken(
        for userID: String?, forcingRefresh isForced: Bool
    ) async throws -> AccessToken? {
        var request = TokenRequest(
            url: account.token_url,
            form: [
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
                ("audience", account.audience), ("scope", GoogleCredentials.scope),
                ("subject_token_type", account.subject_token_type),
                ("subject_token", try await subjectToken()),
            ])
        if let id = account.client_id, let secret = account.client_secret {
            let pair = Data("\(id):\(secret)".utf8).base64EncodedString()
            request.headers["Authorization"] = "Basic \(pair)"
        }
        return try await environment.token(of: request)
    }

    /// The other provider's token, which may change: it is read for each exchange.
    private func subjectToken() async throws -> String {
        let data = try await subjectData()
        if account.credential_source.format?.type == "json" {
            let name = account.credential_source.format?.subject_token_field_name ?? ""
            let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
            guard let token = object?[name] as? String else {
                throw environment.error(
                    .unauthenticated, "the subject token's JSON has no text named '\(name)'")
            }
            return token
        }
        let text = String(decoding: data, as: UTF8.self)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func subjectData() async throws -> Data {
        let source = account.credential_source
        if let path = source.file {
            guard let data = environment.readFile(path) else {
                throw environment.error(
                    .notFound, "the file '\(path)' with the subject token cannot be read")
            }
            return data
        }
        return try await environment.body(
            of: TokenRequest(url: source.url ?? "", headers: source.headers ?? [:]))
    }
}

/// Tokens of a service account that another identity may impersonate.
struct ImpersonatedTokens: AccessTokenProvider {
    /// The address that gives the account's tokens.
    let url: String
    /// The accounts in between, if any.
    let delegates: [String]
    /// The identity that impersonates the account.
    let source: any AccessTokenProvider
    let environment: TokenEnvironment

    private struct Body: Encodable {
        var delegates: [String]
        var scope = [GoogleCredentials.scope]
        var lifetime = "3600s"
    }

    private struct Answer: Decodable {
        var accessToken: String
        var expireTime: Date
    }

    func accessToken(
        for userID: String?, forcingRefresh isForced: Bool
    ) async throws -> AccessToken? {
        guard
            let own = try await source.accessToken(for: userID, forcingRefresh: isForced)
        else { throw environment.error(.unauthenticated, "the source has no access token") }
        let request = TokenRequest(
            url: url,
            headers: [
                "Authorization": "Bearer \(own.secret)", "Content-Type": "application/json",
            ],
            body: try JSONEncoder().encode(Body(delegates: delegates)))
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let body = try await environment.body(of: request)
        guard let answer = try? decoder.decode(Answer.self, from: body) else {
            throw environment.error(
                .unauthenticated, "\(request) answered without an access token")
        }
        let seconds = answer.expireTime.timeIntervalSince(environment.now())
        return AccessToken(answer.accessToken, lifetime: .seconds(max(seconds, 0)))
    }
}
