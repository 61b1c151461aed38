import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel

extension RESTCall {
    /// The answer to a read.
    func response(
        to result: Result<ReadResult, LarderError>, isShallow: Bool
    ) -> RESTResponse {
        switch result {
        case .failure(let error): return RESTResponse(RESTError(503, error.message))
        case .success(.content(let node)):
            let tag = ContentTag.tag(of: node)
            var response: RESTResponse
            if let knownTag, ContentTag.hash(of: knownTag) == ContentTag.hash(of: tag) {
                response = RESTResponse(304)
            } else {
                response = self.response(isShallow ? Self.shallow(node) : json(of: node))
            }
            if returnsTag || knownTag != nil { response.add("ETag", tag) }
            return response
        case .success(.denied): return RESTResponse(.denied)
        case .success(.invalid(let reason)): return RESTResponse(.invalid(reason))
        case .success(.missingIndex(let index)):
            return RESTResponse(
                .invalid(
                    "Index not defined, add \".indexOn\": \"\(index)\", for path \"\(path)\", to the rules"
                ))
        }
    }

    /// The answer to a write.
    ///
    /// - Parameter json: the answer in place of what was written.
    func response(
        to result: Result<WriteResult, LarderError>, answering json: JSONValue?
    ) -> RESTResponse {
        switch result {
        case .failure(let error): return RESTResponse(RESTError(503, error.message))
        case .success(.written(let write)):
            var response = self.response(json ?? self.json(of: write))
            if returnsTag, write.values.count == 1 {
                response.add("ETag", ContentTag.tag(of: write.values[0].node))
            }
            return response
        case .success(.stale(let node)):
            var response = RESTResponse(412, json: self.json(of: node))
            response.add("ETag", ContentTag.tag(of: node))
            return response
        case .success(.denied): return RESTResponse(.denied)
        case .success(.invalid(let reason)):
            return RESTResponse(.invalid("Invalid data; \(reason)"))
        }
    }

    private func response(_ json: JSONValue) -> RESTResponse {
        style == .silent
            ? RESTResponse(204) : RESTResponse(200, json: json, isPretty: style == .pretty)
    }

    private func json(of node: Node) -> JSONValue {
        hasPriorities ? node.exportedJSON : node.plainJSON
    }

    /// What was written: a node, or an object of the nodes by their paths.
    private func json(of write: TreeWrite) -> JSONValue {
        guard case .update = operation else { return json(of: write.values[0].node) }
        return .object(write.values.map { JSONMember($0.path.text, json(of: $0.node)) })
    }

    /// The keys of a node's children, or its value.
    private static func shallow(_ node: Node) -> JSONValue {
        node.childCount == 0
            ? node.plainJSON
            : .object(node.children.map { JSONMember($0.key.text, .boolean(true)) })
    }
}

extension RESTResponse {
    /// The answer to the request by which browsers ask what is allowed.
    static var preflight: RESTResponse {
        var response = RESTResponse(204)
        response.add("Access-Control-Allow-Methods", "GET, PUT, POST, PATCH, DELETE")
        response.add(
            "Access-Control-Allow-Headers",
            "Authorization, Content-Type, If-Match, If-None-Match, X-Firebase-ETag, X-HTTP-Method-Override"
        )
        response.add("Access-Control-Max-Age", "3600")
        return response
    }

    /// The response, which a page of an origin may read.
    func allowing(_ origin: String?) -> RESTResponse {
        guard let origin else { return self }
        var response = self
        response.add("Access-Control-Allow-Origin", origin)
        response.add("Access-Control-Expose-Headers", "ETag")
        response.add("Vary", "Origin")
        return response
    }

    /// The response as a call of a function, or as a file, if the request wants that.
    func adapted(to request: RESTRequest) -> RESTResponse {
        var response = self
        if let name = request.parameter("callback"), Self.isFunction(name), !body.isEmpty {
            response.headers.removeAll { $0.name == "Content-Type" }
            response.add("Content-Type", "application/javascript; charset=utf-8")
            response.body = Array("\(name)(".utf8) + body + Array(");".utf8)
        }
        if let name = request.parameter("download"), status == 200 {
            let file = String(
                String.UnicodeScalarView(name.unicodeScalars.filter(Self.isFileScalar)))
            response.add("Content-Disposition", "attachment; filename=\"\(file)\"")
        }
        return response
    }

    private static func isFunction(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"),
                    UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    private static func isFileScalar(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII && scalar.value >= 0x20 && scalar != "\"" && scalar != "\\"
            && scalar.value != 0x7f
    }
}
