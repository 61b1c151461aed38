import LarderCore
import LarderRealtimeServer
import Testing

@Suite("Queries of the REST interface")
struct RESTQueryTests {
    private let rest: RESTConversation

    init() throws {
        rest = try RESTConversation()
        let dinosaurs = """
            {"lambeosaurus": {"height": 2.1, "length": 12.5}, "stegosaurus": {"height": 4, "length": 9},
             "bruhathkayosaurus": {"height": 25, "length": 44}, "pterodactyl": {"height": 0.6}}
            """
        #expect(rest.text("PUT", "/dinosaurs.json?print=silent", dinosaurs) == "204")
        #expect(
            rest.text("PUT", "/scores.json?print=silent", #"{"a":55,"b":21,"c":93,"d":"x"}"#)
                == "204")
    }

    /// The keys of the answer, or the error.
    private func keys(_ target: String) throws -> [String] {
        let response = try #require(rest.send("GET", target))
        let json = try JSONValue(parsing: response.body)
        if response.status != 200 { return ["\(response.status)"] }
        guard case .object(let members) = json else {
            return [String(decoding: response.body, as: UTF8.self)]
        }
        return members.map(\.name).sorted()
    }

    @Test(
        "children are selected by order, bounds and limit",
        arguments: [
            (
                "/dinosaurs.json?orderBy=%22height%22&startAt=3",
                ["bruhathkayosaurus", "stegosaurus"]
            ),
            ("/dinosaurs.json?orderBy=%22height%22&startAfter=4", ["bruhathkayosaurus"]),
            ("/dinosaurs.json?orderBy=%22height%22&endAt=2.1", ["lambeosaurus", "pterodactyl"]),
            ("/dinosaurs.json?orderBy=%22height%22&endBefore=2.1", ["pterodactyl"]),
            ("/dinosaurs.json?orderBy=%22height%22&equalTo=4", ["stegosaurus"]),
            ("/dinosaurs.json?orderBy=%22height%22&equalTo=5", ["null"]),
            ("/dinosaurs.json?orderBy=%22length%22&equalTo=null", ["pterodactyl"]),
            ("/dinosaurs.json?orderBy=%22$key%22&startAt=%22m%22", ["pterodactyl", "stegosaurus"]),
            ("/dinosaurs.json?orderBy=%22$key%22&limitToFirst=1", ["bruhathkayosaurus"]),
            ("/dinosaurs.json?orderBy=%22$key%22&limitToLast=1", ["stegosaurus"]),
            (
                "/dinosaurs.json?orderBy=%22$priority%22&limitToLast=2",
                ["pterodactyl", "stegosaurus"]
            ),
            ("/scores.json?orderBy=%22$value%22&limitToLast=2", ["c", "d"]),
            ("/scores.json?orderBy=%22$value%22&startAt=22&endAt=60", ["a"]),
            ("/scores.json?orderBy=%22$value%22&equalTo=%22x%22", ["d"]),
            ("/scores.json?orderBy=%22$value%22&startAt=55,%22b%22", ["c", "d"]),
            ("/scores.json?orderBy=%22$value%22", ["a", "b", "c", "d"]),
            ("/scores.json?startAt=1", ["400"]),
            ("/scores.json?orderBy=height", ["400"]),
            ("/scores.json?orderBy=1", ["400"]),
            ("/scores.json?orderBy=%22%22", ["400"]),
            ("/scores.json?orderBy=%22a.b%22", ["400"]),
            ("/scores.json?orderBy=%22$value%22&startAt=x", ["400"]),
            ("/scores.json?orderBy=%22$value%22&startAt=%5B1%5D", ["400"]),
            ("/scores.json?orderBy=%22$value%22&startAt=1,2", ["400"]),
            ("/scores.json?orderBy=%22$key%22&startAt=1", ["400"]),
            ("/scores.json?orderBy=%22$value%22&startAt=1&equalTo=1", ["400"]),
            ("/scores.json?orderBy=%22$key%22&limitToFirst=0", ["400"]),
            ("/scores.json?orderBy=%22$key%22&limitToFirst=x", ["400"]),
            ("/scores.json?orderBy=%22$key%22&limitToFirst=1&limitToLast=1", ["400"]),
        ])
    func queries(target: String, expected: [String]) throws {
        #expect(try keys(target) == expected)
    }

    @Test("queries need an index where there are rules")
    func indexes() throws {
        let rest = try RESTConversation(
            rules: #"{"rules": {".read": true, "a": {".indexOn": ["x", ".value"]}}}"#)
        func get(_ path: String, _ order: String) -> String {
            rest.text("GET", "\(path)?orderBy=%22\(order)%22&limitToFirst=1")
        }
        #expect(get("/a.json", "x") == "200 null")
        #expect(get("/a.json", "$value") == "200 null")
        #expect(get("/a.json", "$key") == "200 null")
        #expect(
            get("/a.json", "y/z")
                == #"400 {"error":"Index not defined, add \".indexOn\": \"y/z\", for path \"/a\", to the rules"}"#
        )
        #expect(get("/a/b.json", "$value").hasPrefix("400 "))
        #expect(rest.text("GET", "/b.json?auth=owner&orderBy=%22x%22&limitToFirst=1") == "200 null")
    }
}
