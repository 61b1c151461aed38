import Testing

@testable import LarderServer

@Suite("Paths and queries of the HTTP API")
struct JSONPathTests {
    private let database = "projects/p/databases/(default)"

    private func path(_ text: String) -> JSONPath? {
        JSONPath("/v1/projects/p/databases/(default)/documents\(text)", methods: ["runQuery"])
    }

    @Test("a path names a resource")
    func resource() throws {
        let document = try #require(path("/c/d"))
        #expect(document.database == database && document.method == nil)
        #expect(document.segments == ["c", "d"])
        #expect(document.resource == "\(database)/documents/c/d")
        #expect(document.parent == "\(database)/documents/c")
        #expect(try #require(path("")).resource == "\(database)/documents")
    }

    @Test("a custom method follows the last colon; other colons belong to the resource")
    func method() throws {
        let root = try #require(path(":runQuery"))
        #expect(root.method == "runQuery" && root.resource == "\(database)/documents")
        let nested = try #require(path("/c/a:b:runQuery"))
        #expect(nested.method == "runQuery" && nested.segments == ["c", "a:b"])
        let none = try #require(path("/c/a:b"))
        #expect(none.method == nil && none.segments == ["c", "a:b"])
        let escaped = try #require(path("/c/a%3ArunQuery"))
        #expect(escaped.method == nil && escaped.segments == ["c", "a:runQuery"])
    }

    @Test("segments are percent-encoded, except for slashes")
    func encoding() throws {
        #expect(try #require(path("/c/%C3%BC%20+")).segments == ["c", "ü +"])
        let marked = try #require(path("/c/%EF%BB%BFx")).segments[1]
        #expect(Array(marked.utf8) == [0xef, 0xbb, 0xbf, 120])
        #expect(try #require(path("/c/a%2Fb%2fc%25")).segments == ["c", "a%2Fb%2fc%"])
        #expect(
            JSONPath("/v1/projects/p/databases/%28default%29/documents", methods: [])?.database
                == database)
    }

    @Test(
        "anything else is no resource",
        arguments: [
            "/v1", "/v1/", "/v2/projects/p/databases/d/documents", "/v1/projects/p/databases/d",
            "/v1/projects/p/databases/d/documents/", "/v1/projects/p/databases/d/documents//c",
            "/v1/projects//databases/d/documents", "/v1/x/p/databases/d/documents",
            "/v1/projects/p/databases/d/documents/c/%ff", "/v1/projects/p/databases/d/documents/%",
        ])
    func malformed(text: String) {
        #expect(JSONPath(text, methods: []) == nil)
    }

    @Test("a query has parameters in camel case, without those of all of Google's APIs")
    func query() throws {
        let query = try #require(
            JSONQuery("mask.field_paths=a%2Bb+c&$alt=json&alt=json&key=k&pageSize=3&showMissing"))
        #expect(query.parameters.map(\.name) == ["mask.fieldPaths", "pageSize", "showMissing"])
        #expect(query.parameters.map(\.value) == ["a+b c", "3", ""])
        #expect(try #require(JSONQuery("alt=proto")).parameters.map(\.name) == ["alt"])
        #expect(try #require(JSONQuery("")).parameters.isEmpty)
        #expect(JSONQuery("a=%ff") == nil)
    }
}
