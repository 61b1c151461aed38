import LarderCore
import LarderRealtimeServer
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Damaged requests of the REST interface")
struct RESTRandomTests {
    private static let targets = [
        "/.json", "/a/b.json?print=pretty", "/a.json?shallow=true", "/a%20b/%C3%A9.json?auth=owner",
        "/a.json?orderBy=%22x/y%22&startAt=1,%22k%22&limitToFirst=3", "/a/.priority.json",
        "/a.json?orderBy=%22$key%22&equalTo=%22b%22&timeout=3s&format=export", "/.info/x.json",
        "/.settings/rules.json?auth=owner", "/a.json?auth=owner&auth_variable_override=%7B%7D",
        "/a.json?callback=f&download=x&writeSizeLimit=tiny&ns=other",
    ]

    private static let bodies = [
        "", "null", "1.5", #""text""#, #"{"a":{"b":[1,2,null]},".priority":3}"#,
        #"{"a/b":1,"c":null}"#,
        #"{".sv":"timestamp"}"#, #"{".value":1,".priority":"x"}"#,
        #"{"rules":{".read":"auth != null"}}"#,
        #"{".sv":{"increment":1e308}}"#,
    ]

    /// The text, most often damaged.
    private func damaged(_ text: String, _ random: inout SeededRandom) -> String {
        if random.oneIn(3) { return text }
        return String(decoding: random.mutated(Array(text.utf8)), as: UTF8.self)
    }

    @Test("every request has one answer, of a status that says what happened, and JSON")
    func mutations() throws {
        var random = SeededRandom()
        let statuses: Set<Int> = [200, 204, 304, 400, 401, 404, 405, 412]
        var counts: [Int: Int] = [:]
        for _ in 0..<300 {
            let rest = try RESTConversation()
            for _ in 0..<20 {
                let target = damaged(random.pick(Self.targets), &random)
                let body = damaged(random.pick(Self.bodies), &random)
                let method = random.pick(["GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "X"])
                var headers: [(name: String, value: String)] = []
                if random.oneIn(3) { headers.append(("X-Firebase-ETag", "true")) }
                if random.oneIn(6) {
                    headers.append(("If-Match", random.pick(["null_etag", "x", "\""])))
                }
                if random.oneIn(6) {
                    headers.append(("If-None-Match", random.pick(["null_etag", "x"])))
                }
                // The server refuses what is no request before it opens a database.
                guard (try? RESTRequest(method, target)) != nil else { continue }
                let response = try #require(
                    rest.send(method, target, body, headers: headers),
                    "\(method) \(target) \(random)")
                try #require(statuses.contains(response.status), "\(method) \(target) \(random)")
                counts[response.status, default: 0] += 1
                let type = response.header("Content-Type") ?? ""
                if type.hasPrefix("application/json"), !target.contains("rules") {
                    _ = try JSONValue(parsing: response.body, maximumDepth: 1000)
                }
            }
        }
        #expect(counts[200, default: 0] > 500 && counts[400, default: 0] > 500, "\(counts)")
    }
}
