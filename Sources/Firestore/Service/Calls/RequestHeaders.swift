import GRPCCore
import LarderHTTP
import LarderWire
import NIOHPACK

/// The headers of a call's request.
struct RequestHeaders {
    let path: String
    /// The call's timeout; nil without limit.
    let timeout: CallTimeout?
    /// The encoding of compressed messages; nil for none.
    let encoding: String?
    /// All headers, as received.
    let all: HPACKHeaders

    /// Reads the headers of a request (gRPC over HTTP/2, "Requests").
    ///
    /// - Parameters:
    ///   - token: the token that the client must present; nil for none.
    ///   - access: the checks of requests of web pages.
    init(_ headers: HPACKHeaders, token: BearerToken?, access: WebAccess) throws(CallRefusal) {
        var path, scheme, method, contentType, encoding, timeout: String?
        var web = WebAccess.Request()
        var isAdmitted = token == nil
        for (name, value, _) in headers {
            switch name {
            case ":path": path = value
            case ":authority": web.hosts.append(value)
            case "origin": web.origin = value
            case "sec-fetch-site": web.site = value
            case ":scheme": scheme = value
            case ":method": method = value
            case "content-type": contentType = value
            case "grpc-encoding": encoding = value
            case CallTimeout.headerName: timeout = value
            case "authorization": isAdmitted = isAdmitted || token?.admits(value) == true
            default: continue
            }
        }
        guard let contentType, Self.isGRPC(contentType) else {
            throw .unsupportedMediaType
        }
        guard let path, scheme == "http" || scheme == "https", method == "POST" else {
            throw CallRefusal(
                .invalidArgument, "a call must be a POST over http or https with a path")
        }
        if web.isOfBrowser, let refusal = access.refusal(of: web) {
            throw CallRefusal(.permissionDenied, refusal.message, refusal.kind)
        }
        guard isAdmitted || HealthService.paths.contains(path) else {
            throw CallRefusal(.unauthenticated, "the bearer token is missing or wrong", .token)
        }
        self.path = path
        self.encoding = encoding == "identity" ? nil : encoding
        self.timeout = timeout.flatMap(CallTimeout.init(header:))
        all = headers
    }

    /// True for `application/grpc` with any message format; false for `application/grpc-web`.
    private static func isGRPC(_ type: String) -> Bool {
        let name = "application/grpc"
        guard type.hasPrefix(name) else { return false }
        return [nil, "+", ";"].contains(type.dropFirst(name.count).first)
    }

    /// The client's metadata, without the timeout: gRPC would start a task to wait for it.
    var metadata: Metadata {
        var metadata = Metadata()
        for (name, value, _) in all
        where !name.hasPrefix(":") && !name.hasSuffix("-bin") && name != CallTimeout.headerName {
            metadata.addString(value, forKey: name)
        }
        return metadata
    }
}

struct CallRefusal: Error {
    /// The whole response.
    let headers: HPACKHeaders
    /// The kind and the reason of refused access; nil for other refusals.
    let access: (kind: AccessRefusal, reason: String)?

    init(_ error: RPCError) {
        self.init(headers: ResponseHeaders.ending(error, hasBegun: false))
    }

    init(_ code: RPCError.Code, _ message: String, _ kind: AccessRefusal? = nil) {
        headers = ResponseHeaders.ending(RPCError(code: code, message: message), hasBegun: false)
        access = kind.map { ($0, message) }
    }

    private init(headers: HPACKHeaders) {
        self.headers = headers
        access = nil
    }

    /// The response to a request that is not gRPC.
    static let unsupportedMediaType = CallRefusal(headers: [":status": "415"])
}
