import GRPCCore
import LarderHTTP
import LarderWire
import NIOHPACK

/// What the headers of a request say.
struct RequestHeaders {
    /// What is called.
    let path: String
    /// How long the call may take; nil where it may take any time.
    let timeout: CallTimeout?
    /// The headers, as they came.
    let all: HPACKHeaders

    /// Reads the headers of a request (gRPC over HTTP/2, "Requests").
    ///
    /// - Parameters:
    ///   - token: what the client must bear; nil for nothing.
    ///   - access: which calls of web pages are served.
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
        guard let contentType, contentType.hasPrefix("application/grpc") else {
            throw .unsupportedMediaType
        }
        guard let path, scheme == "http" || scheme == "https", method == "POST" else {
            throw CallRefusal(
                .invalidArgument, "a call is a POST of http or https, and has a path")
        }
        if web.isOfBrowser, let reason = access.refusal(of: web) {
            throw CallRefusal(.permissionDenied, reason)
        }
        guard isAdmitted else {
            throw CallRefusal(.unauthenticated, "a bearer token is missing or wrong")
        }
        if let encoding, encoding != "identity" {
            throw CallRefusal(
                RPCError(
                    code: .unimplemented, message: "\(encoding) compression is not supported",
                    metadata: ["grpc-accept-encoding": "identity"]))
        }
        self.path = path
        self.timeout = timeout.flatMap(CallTimeout.init(header:))
        all = headers
    }

    /// The headers that the client has added.
    ///
    /// Without the time that the call may take: what takes it from here would keep a sleeping task
    /// for it, however soon the call is done.
    var metadata: Metadata {
        var metadata = Metadata()
        for (name, value, _) in all
        where !name.hasPrefix(":") && !name.hasSuffix("-bin") && name != CallTimeout.headerName {
            metadata.addString(value, forKey: name)
        }
        return metadata
    }
}

/// Why a call is not served, as its headers say it.
struct CallRefusal: Error {
    /// The headers that are the whole answer.
    let headers: HPACKHeaders

    /// An answer that is an error.
    init(_ error: RPCError) {
        headers = ResponseHeaders.ending(error, hasBegun: false)
    }

    /// An answer that is an error.
    init(_ code: RPCError.Code, _ message: String) {
        self.init(RPCError(code: code, message: message))
    }

    private init(headers: HPACKHeaders) {
        self.headers = headers
    }

    /// The answer to what is no call of gRPC.
    static let unsupportedMediaType = CallRefusal(headers: [":status": "415"])
}
