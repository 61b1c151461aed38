import GRPCCore
import LarderCredentials
import LarderModel
import LarderWire

/// What every call says of itself.
struct CallHeaders: Sendable {
    private let database: String

    init(_ database: DatabaseID) {
        self.database = "\(database)"
    }

    /// The headers of a call, with what proves who asks, and how long the answer may take.
    func metadata(_ token: AccessToken?, timeout: Duration?) -> Metadata {
        var metadata: Metadata = [
            // Which database a call is about, for who passes it on without reading it.
            "google-cloud-resource-prefix": .string(database),
            "x-goog-request-params": .string(database),
            "x-goog-api-client": "gl-swift/6 larder/\(LarderVersion.text) grpc/2",
        ]
        if let token { metadata.addString("Bearer \(token.secret)", forKey: "authorization") }
        if let timeout {
            metadata.addString(CallTimeout(timeout).header, forKey: CallTimeout.headerName)
        }
        return metadata
    }
}
