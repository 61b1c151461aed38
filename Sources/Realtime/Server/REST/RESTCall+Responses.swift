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
                response = isShallow ? self.response(Self.shallow(node)) : self.response(node)
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
            var response = json.map { self.response($0) } ?? self.response(write)
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

    private func response(_ node: Node) -> RESTResponse {
        if style == .compact, let text = NodeText(large: node, hasPriorities: hasPriorities) {
            return RESTResponse(200, text)
        }
        return style == .silent ? RESTResponse(204) : response(json(of: node))
    }

    /// The answer of what was written: a node, or an object of the nodes by their paths.
    private func response(_ write: TreeWrite) -> RESTResponse {
        guard case .update = operation else { return response(write.values[0].node) }
        if style == .silent { return RESTResponse(204) }
        return response(
            .object(write.values.map { JSONMember($0.path.text, json(of: $0.node)) }))
    }

    private func json(of node: Node) -> JSONValue {
        hasPriorities ? node.exportedJSON : node.plainJSON
    }

    /// The keys of a node's children, or its value.
    private static func shallow(_ node: Node) -> JSONValue {
        node.childCount == 0
            ? node.plainJSON
            : .object(node.children.map { JSONMember($0.key.text, .boolean(true)) })
    }
}

extension RESTResponse {
    /// The response as a call of a function, or as a file, if the request wants that.
    func adapted(to request: RESTRequest) -> RESTResponse {
        var response = self
        if let name = request.parameter("callback"), Self.isFunction(name),
            !body.isEmpty || text != nil
        {
            response.makeBody()
            response.headers.removeAll { $0.name == "Content-Type" }
            response.add("Content-Type", "application/javascript; charset=utf-8")
            response.body = Array("\(name)(".utf8) + response.body + Array(");".utf8)
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
