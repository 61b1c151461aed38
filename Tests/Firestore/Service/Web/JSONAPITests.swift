import Foundation
import LarderBackend
import LarderCore
import LarderHTTP
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderServer

@Suite("Firestore's RPCs as JSON")
struct JSONAPITests {
    private let test = ServiceUnderTest()
    private let database = "projects/p/databases/(default)"

    private func reply(
        _ method: String, _ path: String, _ body: String = "", fields: [HTTPRequest.Field] = [],
        to reply: CollectedReply = CollectedReply()
    ) async -> CollectedReply {
        let request = HTTPRequest(
            method: method, target: "/v1/\(database)/documents\(path)", fields: fields,
            body: Array(body.utf8))
        await JSONAPI(calls: EncodedCalls(test.service)).respond(to: request, reply)
        #expect(reply.isWhole)
        return reply
    }

    /// The response to a request that succeeds.
    private func answer(_ method: String, _ path: String, _ body: String = "") async throws
        -> JSONValue
    {
        let reply = await reply(method, path, body)
        #expect(reply.status == 200, "\(reply.text)")
        #expect(reply[field: "content-type"] == "application/json; charset=UTF-8")
        return try JSONValue(json: reply.text)
    }

    /// The status of HTTP and of the error of a request that fails.
    private func failure(_ method: String, _ path: String, _ body: String = "") async throws
        -> String
    {
        let reply = await reply(method, path, body)
        let json = try JSONValue(json: reply.text)
        let error = json["error"] ?? json.elements.first?["error"]
        #expect(error?["code"] == .integer(Int64(reply.status ?? 0)))
        #expect(error?["message"]?.text?.isEmpty == false)
        return "\(reply.status ?? 0) \(error?["status"]?.text ?? "")"
    }

    // MARK: Documents

    private static let fields = """
        {"null":{"nullValue":null},"true":{"booleanValue":true},\
        "integer":{"integerValue":"9223372036854775807"},"double":{"doubleValue":0.5},\
        "nan":{"doubleValue":"NaN"},"infinity":{"doubleValue":"-Infinity"},\
        "time":{"timestampValue":"2024-02-03T04:05:06.789Z"},"string":{"stringValue":"ü\\n\\""},\
        "bytes":{"bytesValue":"AP8="},\
        "reference":{"referenceValue":"projects/p/databases/(default)/documents/c/d"},\
        "point":{"geoPointValue":{"latitude":1.5,"longitude":-2.5}},\
        "array":{"arrayValue":{"values":[{"stringValue":""},{"mapValue":{}}]}},\
        "map":{"mapValue":{"fields":{"a":{"arrayValue":{}}}}}}
        """

    @Test("values of all types are read as they were written")
    func values() async throws {
        let body = #"{"fields":\#(Self.fields)}"#
        let written = try await answer("PATCH", "/c/d", body)
        let read = try await answer("GET", "/c/d")
        #expect(read["updateTime"] == written["updateTime"])
        #expect(read["name"]?.text == "\(database)/documents/c/d")
        #expect(read["createTime"]?.text == read["updateTime"]?.text)
        let expected = try JSONValue(json: Self.fields)
        guard case .object(let members) = expected else { return }
        for member in members { #expect(read["fields"]?[member.name] == member.value) }
    }

    @Test("a document is created with an ID or without one, once")
    func creates() async throws {
        let body = #"{"fields":{"n":{"integerValue":1}}}"#
        let named = try await answer("POST", "/c?documentId=x", body)
        #expect(named["name"]?.text == "\(database)/documents/c/x")
        #expect(try await failure("POST", "/c?documentId=x", body) == "409 ALREADY_EXISTS")
        let generated = try await answer("POST", "/c/x/d", body)
        let prefix = "\(database)/documents/c/x/d/"
        #expect(generated["name"]?.text?.hasPrefix(prefix) == true)
        #expect(generated["name"]?.text?.count == prefix.count + 20)
    }

    @Test("masks and preconditions are parameters of the query")
    func masks() async throws {
        let body = #"{"fields":{"a":{"integerValue":"1"},"b":{"integerValue":"2"}}}"#
        let missing = try await failure("PATCH", "/c/d?currentDocument.exists=true", body)
        #expect(missing == "404 NOT_FOUND")
        _ = try await answer("PATCH", "/c/d?currentDocument.exists=false", body)
        let other = #"{"fields":{"a":{"integerValue":"3"},"b":{"integerValue":"4"}}}"#
        let patched = try await answer(
            "PATCH", "/c/d?updateMask.fieldPaths=a&mask.field_paths=a&mask.fieldPaths=b", other)
        #expect(patched["fields"]?["a"]?["integerValue"]?.text == "3")
        #expect(patched["fields"]?["b"]?["integerValue"]?.text == "2")
        let masked = try await answer("GET", "/c/d?mask.fieldPaths=b")
        #expect(masked["fields"]?["a"] == nil && masked["fields"]?["b"] != nil)
        let time = try #require(patched["updateTime"]?.text)
        let old = "2001-01-01T00:00:00Z"
        #expect(
            try await failure("DELETE", "/c/d?currentDocument.updateTime=\(old)")
                == "400 FAILED_PRECONDITION")
        #expect(
            try await answer("DELETE", "/c/d?currentDocument.updateTime=\(time)") == .object([]))
        #expect(try await failure("GET", "/c/d") == "404 NOT_FOUND")
    }

    @Test("a list has pages, an order and missing documents")
    func lists() async throws {
        try await test.fill("c", 0..<5)
        _ = try await answer("PATCH", "/c/missing/sub/d", "{}")
        let first = try await answer("GET", "/c?pageSize=3&orderBy=n%20desc")
        #expect(first["documents"]?.elements.count == 3)
        #expect(first["documents"]?.elements[0]["fields"]?["n"]?["integerValue"]?.text == "4")
        let token = try #require(first["nextPageToken"]?.text)
        let escaped = try #require(
            token.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let second = try await answer(
            "GET", "/c?pageSize=3&orderBy=n%20desc&pageToken=\(escaped)")
        #expect(second["documents"]?.elements.count == 2 && second["nextPageToken"] == nil)
        let all = try await answer("GET", "/c?showMissing=true&mask.fieldPaths=x")
        #expect(all["documents"]?.elements.count == 6)
        #expect(try await answer("GET", "/none") == .object([]))
    }

    @Test("characters of all planes are the same wherever they occur, escaped or not")
    func planes() async throws {
        var random = SeededRandom()
        for _ in 0..<20 {
            let (id, field, key) = (
                random.nameOfAllPlanes(), random.nameOfAllPlanes(), random.nameOfAllPlanes()
            )
            let text = random.textOfAllPlanes()
            let name = "\(database)/documents/c/\(id)"
            let document =
                #"{"name":\#(random.json(name)),"fields":{\#(random.json(field)):{"mapValue":"#
                + #"{"fields":{\#(random.json(key)):{"stringValue":\#(random.json(text))}}}}}}"#
            let write = #"{"writes":[{"update":\#(document)}]}"#
            #expect(await reply("POST", ":commit", write).status == 200, "\(random)")
            let path = random.json("`\(field)`.`\(key)`")
            let query =
                #"{"structuredQuery":{"from":[{"collectionId":"c"}],"where":{"fieldFilter":{"#
                + #""field":{"fieldPath":\#(path)},"op":"EQUAL","#
                + #""value":{"stringValue":\#(random.json(text))}}}}}"#
            let escaped = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            for answer in [
                await reply("POST", ":runQuery", query),
                await reply("POST", ":batchGet", #"{"documents":[\#(random.json(name))]}"#),
                await reply("GET", "/c/\(escaped)"),
            ] {
                let json = try JSONSerialization.jsonObject(with: Data(answer.text.utf8))
                let elements = (json as? [[String: Any]])?.map { $0["document"] ?? $0["found"] }
                let found = try #require(
                    (elements ?? [json]).compactMap { $0 as? [String: Any] }
                        .first { ($0["name"] as? String)?.utf8.elementsEqual(name.utf8) == true },
                    "\(random) \(answer.text)")
                let map = (found["fields"] as? [String: [String: Any]])?.first
                #expect(map?.key.utf8.elementsEqual(field.utf8) == true, "\(random)")
                let fields = (map?.value["mapValue"] as? [String: Any])?["fields"]
                let value = (fields as? [String: [String: Any]])?.first
                #expect(value?.key.utf8.elementsEqual(key.utf8) == true, "\(random)")
                let string = value?.value["stringValue"] as? String
                #expect(string?.utf8.elementsEqual(text.utf8) == true, "\(random)")
            }
        }
    }

    @Test("a time of the query is not JSON")
    func times() async throws {
        for time in [#"2024-02-03T04:05:06\u005a"#, #"2024-02-03T04:05:06Z""#, #"\ud842\udfb7"#] {
            let escaped = time.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            #expect(
                try await failure("GET", "/c/d?readTime=\(escaped)") == "400 INVALID_ARGUMENT")
        }
    }

    // MARK: Custom methods

    @Test("writes are committed, in a transaction or without")
    func commits() async throws {
        let name = "\(database)/documents/c/d"
        let begun = try await answer("POST", ":beginTransaction", #"{"options":{"readWrite":{}}}"#)
        let transaction = try #require(begun["transaction"]?.text)
        let write = """
            {"update":{"name":"\(name)","fields":{"n":{"integerValue":"1"}}},
             "updateTransforms":[{"fieldPath":"t","setToServerValue":"REQUEST_TIME"}]}
            """
        let commit = try await answer(
            "POST", ":commit", #"{"transaction":"\#(transaction)","writes":[\#(write)]}"#)
        #expect(commit["writeResults"]?.elements.first?["updateTime"] == commit["commitTime"])
        let document = try await answer("GET", "/c/d")
        // A server timestamp has milliseconds, a version microseconds.
        func milliseconds(_ value: JSONValue?) throws -> Substring {
            let time = try #require(value?.text).dropLast()
            return (time + (time.contains(".") ? "000" : ".000")).prefix(23)
        }
        let stamp = try #require(document["fields"]?["t"]?["timestampValue"])
        #expect(try milliseconds(stamp) == milliseconds(commit["commitTime"]))
        #expect((stamp.text?.utf8.count ?? .max) <= "2026-11-29T07:02:18.697Z".utf8.count)
        let other = try await answer("POST", ":beginTransaction")
        let id = try #require(other["transaction"]?.text)
        #expect(
            try await answer("POST", ":rollback", #"{"transaction":"\#(id)"}"#) == .object([]))
        let batch = try await answer(
            "POST", ":batchWrite",
            #"{"writes":[{"delete":"\#(name)"},{"delete":"\#(name)x","currentDocument":{"exists":true}}]}"#
        )
        #expect(batch["status"]?.elements.map { $0["code"] ?? .null } == [.null, .integer(5)])
    }

    @Test("responses of queries and batches of reads are arrays")
    func streams() async throws {
        try await test.fill("c", 0..<3)
        let query = #"{"from":[{"collectionId":"c"}],"orderBy":[{"field":{"fieldPath":"n"}}]}"#
        let found = try await answer("POST", ":runQuery", #"{"structuredQuery":\#(query)}"#)
        let numbers = found.elements.map { $0["document"]?["fields"]?["n"]?["integerValue"]?.text }
        #expect(numbers == ["0", "1", "2"])
        let none = try await answer(
            "POST", "/c/x:runQuery", #"{"structuredQuery":\#(query)}"#)
        #expect(none.elements.count == 1 && none.elements[0]["readTime"] != nil)
        let names = ["0000", "none"].map { #""\#(test.root)/c/\#($0)""# }.joined(separator: ",")
        let batch = try await answer("POST", ":batchGet", #"{"documents":[\#(names)]}"#)
        #expect(batch.elements.count == 2 && batch.elements[0]["found"] != nil)
        #expect(batch.elements[1]["missing"]?.text == "\(test.root)/c/none")
        let count = try await answer(
            "POST", ":runAggregationQuery",
            #"""
            {"structuredAggregationQuery":{"structuredQuery":\#(query),
             "aggregations":[{"alias":"n","count":{}}]}}
            """#)
        let result = count.elements.first?["result"]?["aggregateFields"]?["n"]
        #expect(result?["integerValue"]?.text == "3")
    }

    @Test("a malformed write of a batch fails alone, with the reason")
    func batchWithMalformedWrite() async throws {
        let body = """
            {"writes":[{"update":{"name":"x","fields":{}}},\
            {"update":{"name":"\(database)/documents/c/d"}},\
            {"delete":"\(database)/documents/c/e","currentDocument":{"exists":true}}]}
            """
        let batch = try await answer("POST", ":batchWrite", body)
        let codes = batch["status"]?.elements.map { $0["code"] }
        #expect(codes == [.integer(3), nil, .integer(5)])
        #expect(batch["status"]?.elements[0]["message"]?.text?.isEmpty == false)
        #expect(try await answer("GET", "/c/d")["updateTime"] != nil)
    }

    @Test("a batch of no documents has no responses, except for a new transaction")
    func emptyBatch() async throws {
        #expect(try await answer("POST", ":batchGet", #"{"documents":[]}"#).elements.isEmpty)
        let begun = try await answer(
            "POST", ":batchGet", #"{"newTransaction":{"readOnly":{}}}"#)
        #expect(begun.elements.count == 1 && begun.elements[0]["transaction"] != nil)
    }

    @Test("many results come in parts")
    func parts() async throws {
        let test = test
        try await test.fill("c", 0..<1_000)
        let query = #"{"structuredQuery":{"from":[{"collectionId":"c"}]}}"#
        let reply = await reply("POST", ":runQuery", query)
        #expect(reply.status == 200 && reply.parts > 0)
        #expect(try JSONValue(json: reply.text).elements.count == 1_000)
    }

    @Test("collections and partitions are listed")
    func listsOfNames() async throws {
        try await test.fill("b", 0..<400)
        try await test.fill("a", 0..<1)
        let ids = try await answer("POST", ":listCollectionIds", #"{"pageSize":1}"#)
        #expect(ids["collectionIds"]?.elements.map(\.text) == ["a"])
        #expect(ids["nextPageToken"] != nil)
        #expect(try await answer("POST", "/a/0000:listCollectionIds") == .object([]))
        let partitions = try await answer(
            "POST", ":partitionQuery",
            #"""
            {"partitionCount":"2","structuredQuery":{
             "from":[{"collectionId":"b","allDescendants":true}],
             "orderBy":[{"field":{"fieldPath":"__name__"}}]}}
            """#)
        #expect(partitions["partitions"]?.elements.isEmpty == false)
    }

    // MARK: Errors

    private static let secret = (try? DocumentPath("c/secret")).map(Backend.Request.Operation.get)

    @Test("the rules of a database check every request")
    func rules() async throws {
        let test = ServiceUnderTest(rules: { request in
            request.operation == Self.secret ? .deny(reason: "it is a secret") : .allow
        })
        try await test.fill("c", 0..<1)
        for (document, status) in [("0000", 200), ("secret", 403)] {
            let reply = CollectedReply()
            await JSONAPI(calls: EncodedCalls(test.service)).respond(
                to: HTTPRequest(method: "GET", target: "/v1/\(test.root)/c/\(document)"), reply)
            #expect(reply.status == status)
        }
    }

    @Test(
        "a malformed request is refused",
        arguments: [
            ("PATCH", "/c/d", "{"), ("PATCH", "/c/d", "[]"), ("PATCH", "/c/d", #"{"x":1}"#),
            ("PATCH", "/c/d", #"{"fields":{"a":{"integerValue":"x"}}}"#),
            ("PATCH", "/c/d", #"{"fields":{"a":{"bytesValue":"*"}}}"#),
            ("PATCH", "/c/d", #"{"fields":{"a":{}}}"#),
            ("PATCH", "/c/d", #"{"fields":{"__a__":{"nullValue":null}}}"#),
            ("PATCH", "/c/d?currentDocument.exists=maybe", "{}"),
            ("PATCH", "/c/d?unknown=1", "{}"), ("PATCH", "/c", "{}"), ("DELETE", "/c", ""),
            ("GET", "/c/d?readTime=yesterday", ""), ("GET", "/c/d?transaction=*", ""),
            ("GET", "/c?pageSize=-1", ""), ("GET", "/c?pageSize=x", ""),
            ("GET", "/c?alt=media", ""),
            ("POST", ":commit", #"{"writes":[{}]}"#),
            ("POST", ":runQuery", #"{"structuredQuery":{"limit":"x"}}"#),
            ("POST", ":rollback", #"{"transaction":"AA=="}"#), ("POST", "/c/d", "{}"),
        ])
    func malformed(method: String, path: String, body: String) async throws {
        #expect(try await failure(method, path, body) == "400 INVALID_ARGUMENT")
    }

    @Test(
        "an unknown method is 404",
        arguments: [
            ("GET", ""), ("DELETE", ""), ("POST", ""), ("PUT", "/c/d"), ("HEAD", "/c/d"),
            ("GET", ":runQuery"), ("POST", "/c/d:commit"), ("GET", "/c//d"),
        ])
    func unknown(method: String, path: String) async throws {
        #expect(try await failure(method, path) == "404 NOT_FOUND")
    }

    @Test("a compressed body is refused")
    func compressed() async {
        let reply = await reply("POST", ":commit", "x", fields: [("content-encoding", "gzip")])
        #expect(reply.status == 501 && reply.text.contains("gzip"))
    }

    @Test("deep nesting is refused")
    func nesting() async throws {
        let depth = 50_000
        let value =
            String(repeating: #"{"arrayValue":{"values":["#, count: depth)
            + String(repeating: "]}}", count: depth)
        let body = #"{"fields":{"a":\#(value)}}"#
        #expect(try await failure("PATCH", "/c/d", body) == "400 INVALID_ARGUMENT")
    }

    @Test("a query of a client that has left ends")
    func left() async throws {
        try await test.fill("c", 0..<3)
        let reply = await reply(
            "POST", ":runQuery", #"{"structuredQuery":{"from":[{"collectionId":"c"}]}}"#,
            to: CollectedReply(hasLeft: true))
        #expect(reply.parts == 0)
    }
}

extension JSONValue {
    fileprivate init(json text: String) throws {
        self = try JSONValue(parsing: Array(text.utf8))
    }

    /// The string; nil for any other value.
    fileprivate var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The elements of an array; none for any other value.
    fileprivate var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }
}
