import Foundation
import LarderCore
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCredentials

/// What stands in for Google's servers: answers by address, and the requests that came.
private final class StandIn: Sendable {
    private let answers: [String: TokenResponse]
    private let received = Mutex<[(request: TokenRequest, body: String)]>([])
    private let files: Mutex<[String: String]>

    init(_ answers: [String: String], status: Int = 200, files: [String: String] = [:]) {
        self.answers = answers.mapValues {
            TokenResponse(status: status, body: Data($0.utf8))
        }
        self.files = Mutex(files)
    }

    var requests: [(request: TokenRequest, body: String)] { received.withLock { $0 } }

    func write(_ text: String, to path: String) {
        files.withLock { $0[path] = text }
    }

    var credentials: GoogleCredentials {
        GoogleCredentials(
            audience: "https://example.com/",
            environment: TokenEnvironment(
                errorDomain: LarderError.sharedDomain,
                send: { [self] request in
                    let body = String(decoding: request.body ?? Data(), as: UTF8.self)
                    received.withLock { $0.append((request, body)) }
                    guard let answer = answers[request.url] else {
                        return TokenResponse(status: 404, body: Data())
                    }
                    return answer
                },
                readFile: { [self] path in files.withLock { $0[path].map { Data($0.utf8) } } },
                now: { Date(timeIntervalSince1970: 1_000_000_000) }))
    }
}

private let tokenAnswer = #"{"access_token": "t1", "expires_in": 3599, "token_type": "Bearer"}"#

private let person = """
    {"type": "authorized_user", "client_id": "id&1", "client_secret": "s", "refresh_token": "r/1"}
    """

private func external(_ source: String, _ more: String = "") -> String {
    """
    {"type": "external_account", "audience": "//iam/pool", "subject_token_type": "jwt",
     "token_url": "https://sts.example/token", "credential_source": \(source)\(more)}
    """
}

extension AccessTokenProvider {
    fileprivate func token() async throws -> AccessToken? {
        try await accessToken(for: nil, forcingRefresh: false)
    }
}

@Suite("Credentials as Google's libraries find them")
struct GoogleCredentialsTests {
    private static let metadata =
        "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"

    @Test("The named file comes first, then gcloud's, then the metadata server")
    func order() async throws {
        let server = StandIn(
            [Self.metadata: tokenAnswer, "https://oauth2.googleapis.com/token": tokenAnswer],
            files: ["/named": try AccountKeys.keyFile()])
        let credentials = server.credentials
        let named = ["GOOGLE_APPLICATION_CREDENTIALS": "/named", "K_SERVICE": "s", "HOME": "/h"]
        #expect(try credentials.applicationDefault(named) is ServiceAccountTokens)
        #expect(try credentials.applicationDefault(["K_SERVICE": "s"]) is MetadataTokens)
        server.write(person, to: "/h/.config/gcloud/application_default_credentials.json")
        #expect(
            try credentials.applicationDefault(["HOME": "/h", "K_SERVICE": "s"]) is RefreshTokens)
        server.write(person, to: "/c/application_default_credentials.json")
        #expect(try credentials.applicationDefault(["CLOUDSDK_CONFIG": "/c"]) is RefreshTokens)
        #expect(throws: LarderError.self) { try credentials.applicationDefault(["HOME": "/none"]) }
        server.write("Google Compute Engine\n", to: "/sys/class/dmi/id/product_name")
        #expect(try credentials.applicationDefault([:]) is MetadataTokens)
    }

    @Test("Without credentials the error says what to do")
    func none() {
        let error = #expect(throws: LarderError.self) {
            try StandIn([:]).credentials.applicationDefault([:])
        }
        #expect(error?.kind == .failedPrecondition)
        #expect(error?.message.contains("GOOGLE_APPLICATION_CREDENTIALS") == true)
    }

    @Test("The metadata server gives the token of the machine's account")
    func metadataServer() async throws {
        let url = Self.metadata.replacing("metadata.google.internal", with: "10.0.0.1:80")
        let server = StandIn([url: tokenAnswer])
        let provider = try server.credentials.applicationDefault([
            "GCE_METADATA_HOST": "10.0.0.1:80"
        ])
        let token = try #require(try await provider.token())
        #expect(token.secret == "t1" && token.lifetime == .seconds(3599))
        let request = try #require(server.requests.first).request
        #expect(request.headers["Metadata-Flavor"] == "Google" && request.body == nil)
    }

    @Test("A refresh token is exchanged at Google or at the address in the file")
    func refreshToken() async throws {
        let server = StandIn([
            "https://oauth2.googleapis.com/token": tokenAnswer, "http://here/token": tokenAnswer,
        ])
        let provider = try server.credentials.provider(json: Data(person.utf8))
        #expect(try await provider.token()?.secret == "t1")
        #expect(
            server.requests.first?.body
                == "grant_type=refresh_token&client_id=id%261&client_secret=s&refresh_token=r%2F1")
        let other = person.replacing("}", with: #", "token_uri": "http://here/token"}"#)
        _ = try await server.credentials.provider(json: Data(other.utf8)).token()
        #expect(server.requests.last?.request.url == "http://here/token")
    }

    @Test("A token of another provider is exchanged, anew from its file each time")
    func workloadIdentity() async throws {
        let server = StandIn(
            ["https://sts.example/token": tokenAnswer], files: ["/token": " first\n"])
        let provider = try server.credentials.provider(
            json: Data(external(#"{"file": "/token"}"#).utf8))
        #expect(try await provider.token()?.secret == "t1")
        server.write("second", to: "/token")
        #expect(try await provider.token() != nil)
        let bodies = server.requests.map(\.body)
        #expect(bodies.first?.hasSuffix("subject_token=first") == true)
        #expect(bodies.last?.hasSuffix("subject_token=second") == true)
        #expect(bodies.first?.contains("audience=%2F%2Fiam%2Fpool&scope=https%3A%2F%2F") == true)
    }

    @Test("The other provider's token comes from a URL, as JSON, and the account is impersonated")
    func workloadIdentityByURL() async throws {
        let server = StandIn([
            "http://idp/token": #"{"value": "theirs"}"#, "https://sts.example/token": tokenAnswer,
            "https://iam.example/robot:generate":
                #"{"accessToken": "t2", "expireTime": "2001-09-09T02:46:40Z"}"#,
        ])
        let source = """
            {"url": "http://idp/token", "headers": {"X": "y"},
             "format": {"type": "json", "subject_token_field_name": "value"}}
            """
        let json = external(
            source,
            #", "service_account_impersonation_url": "https://iam.example/robot:generate","#
                + #" "client_id": "c", "client_secret": "s""#)
        let provider = try server.credentials.provider(json: Data(json.utf8))
        let token = try #require(try await provider.token())
        #expect(token.secret == "t2" && token.lifetime == .seconds(3600))
        let requests = server.requests
        #expect(requests.map(\.request.url).count == 3)
        #expect(requests[0].request.headers == ["X": "y"])
        #expect(requests[1].request.headers["Authorization"] == "Basic Yzpz")
        #expect(requests[1].body.hasSuffix("subject_token=theirs"))
        #expect(requests[2].request.headers["Authorization"] == "Bearer t1")
    }

    @Test("A service account is impersonated by a person, with delegates")
    func impersonation() async throws {
        let server = StandIn([
            "https://oauth2.googleapis.com/token": tokenAnswer,
            "https://iam.example/robot:generate":
                #"{"accessToken": "t2", "expireTime": "2001-09-09T01:46:50Z"}"#,
        ])
        let json = """
            {"type": "impersonated_service_account", "delegates": ["a"],
             "service_account_impersonation_url": "https://iam.example/robot:generate",
             "source_credentials": \(person)}
            """
        let token = try #require(
            try await server.credentials.provider(json: Data(json.utf8)).token())
        #expect(token.secret == "t2" && token.lifetime == .seconds(10))
        #expect(server.requests.last?.body.contains(#""delegates":["a"]"#) == true)
    }

    @Test("A refusal names OAuth's error, not the body")
    func refusal() async throws {
        let server = StandIn(
            ["https://oauth2.googleapis.com/token": #"{"error": "invalid_grant", "x": "hunter2"}"#],
            status: 400)
        let provider = try server.credentials.provider(json: Data(person.utf8))
        let error = await #expect(throws: LarderError.self) { _ = try await provider.token() }
        #expect(error?.kind == .unauthenticated)
        let message = try #require(error?.message)
        #expect(message.hasSuffix("answered 400: invalid_grant"), "\(message)")
        #expect(error?.description.contains("hunter2") == false)
        var dumped = ""
        dump(server.requests.map(\.request), to: &dumped)
        #expect(!dumped.contains("r%2F1") && !dumped.contains("client_secret"))
    }

    @Test("Files of other kinds, and incomplete ones, are errors that do not quote them")
    func invalidFiles() {
        let credentials = StandIn([:]).credentials
        let texts: [(String, LarderError.Code)] = [
            ("hunter2", .invalidArgument), (#"{"type": "hunter2"}"#, .invalidArgument),
            (#"{"type": "authorized_user", "client_id": "hunter2"}"#, .invalidArgument),
            (#"{"type": "impersonated_service_account"}"#, .invalidArgument),
            (external(#"{"environment_id": "aws1"}"#), .unimplemented),
        ]
        for (text, kind) in texts {
            let error = #expect(throws: LarderError.self) {
                try credentials.provider(json: Data(text.utf8))
            }
            #expect(error?.kind == kind)
            #expect(error?.description.contains("hunter2") == false)
        }
        #expect(throws: LarderError.self) { try credentials.provider(keyFile: "/none") }
    }
}
