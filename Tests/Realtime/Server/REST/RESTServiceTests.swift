import Foundation
import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRules
import LarderRealtimeServer
import LarderSharedTestSupport
import Testing

@Suite("The REST interface")
struct RESTServiceTests {
    private func conversation(_ data: String = "null", rules: String? = nil) throws
        -> RESTConversation
    {
        let conversation = try RESTConversation(rules: rules)
        #expect(conversation.text("PUT", "/.json?print=silent&auth=owner", data) == "204")
        return conversation
    }

    // MARK: Methods

    @Test("values are read, with arrays, and null where there is none")
    func get() throws {
        let rest = try conversation(#"{"a":{"b":[1,2,{"c":true}]},"s":"é\"","n":1.5}"#)
        #expect(rest.text("GET", "/a/b.json") == #"200 [1,2,{"c":true}]"#)
        #expect(rest.text("GET", "/s.json") == #"200 "é\"""#)
        #expect(rest.text("GET", "/n/.json") == "200 1.5")
        #expect(rest.text("GET", "//a//b/2/.json") == #"200 {"c":true}"#)
        #expect(rest.text("GET", "/none/deep.json") == "200 null")
        #expect(
            rest.send("GET", "/n.json")?.header("Content-Type") == "application/json; charset=utf-8"
        )
    }

    @Test("values are set, and answered with what server values have become")
    func put() throws {
        let rest = try conversation()
        #expect(rest.text("PUT", "/a/b.json", #"{"c":1}"#) == #"200 {"c":1}"#)
        #expect(rest.text("PUT", "/t.json", #"{".sv":"timestamp"}"#) == "200 1700000000000")
        #expect(rest.text("PUT", "/a/b/c.json", #"{".sv":{"increment":2}}"#) == "200 3")
        #expect(rest.text("PUT", "/p.json", #"{".value":1,".priority":"x"}"#) == "200 1")
        #expect(rest.text("GET", "/p.json?format=export") == #"200 {".value":1,".priority":"x"}"#)
        #expect(rest.text("PUT", "/p/.priority.json", "7") == "200 7")
        #expect(rest.text("PUT", "/a.json", "null") == "200 null")
        #expect(rest.tree == #"{"p":{".value":1,".priority":7},"t":1700000000000}"#)
    }

    @Test("a push has a new key, which is its answer")
    func post() throws {
        let rest = try conversation()
        let first = rest.text("POST", "/list.json", #""a""#)
        #expect(first.hasPrefix(#"200 {"name":"-"#) && first.utf8.count == 35, "\(first)")
        let second = rest.text("POST", "/list.json", #""b""#)
        #expect(first < second)
        #expect(rest.backend.tree().child(ChildKey("list")).childCount == 2)
    }

    @Test("an update replaces several locations")
    func patch() throws {
        let rest = try conversation(#"{"a":{"x":1,"y":2},"b":3}"#)
        #expect(
            rest.text("PATCH", "/.json", #"{"a/x":9,"b":null,"c":{"d":1}}"#)
                == #"200 {"a/x":9,"b":null,"c":{"d":1}}"#)
        #expect(rest.tree == #"{"a":{"x":9,"y":2},"c":{"d":1}}"#)
        #expect(rest.text("PATCH", "/a.json", "{}") == "200 {}")
        #expect(
            rest.text("PATCH", "/a.json", #"{"x":1,"x/y":2}"#).hasPrefix(
                #"400 {"error":"Invalid data; "#))
        #expect(rest.text("PATCH", "/a.json", "[1]").hasPrefix(#"400 {"error":"Invalid data; "#))
    }

    @Test("values are removed")
    func delete() throws {
        let rest = try conversation(#"{"a":1,"b":2}"#)
        #expect(rest.text("DELETE", "/a.json") == "200 null")
        #expect(rest.text("DELETE", "/b.json?print=silent") == "204")
        #expect(rest.tree == "null")
    }

    @Test("a priority is read where it is written, with the rules of its node")
    func priority() throws {
        let rest = try conversation(
            rules: #"{"rules":{"s":{".read":true,".write":true},"$any":{"$x":{".read":true}}}}"#)
        #expect(rest.text("PUT", "/s.json", "1") == "200 1")
        #expect(rest.text("GET", "/s/.priority.json") == "200 null")
        #expect(rest.text("PUT", "/s/.priority.json", "7") == "200 7")
        #expect(rest.text("GET", "/s/.priority.json") == "200 7")
        #expect(rest.text("GET", "/s.json?format=export") == #"200 {".value":1,".priority":7}"#)
        #expect(rest.text("DELETE", "/s/.priority.json") == "200 null")
        #expect(rest.text("GET", "/s/.priority.json") == "200 null")
        #expect(rest.text("GET", "/t/.priority.json").hasPrefix("401 "))
        #expect(rest.text("GET", #"/s/.priority.json?orderBy="$key""#).hasPrefix("400 "))
    }

    @Test("a path that is not UTF-8 is refused", arguments: ["%FF", "%FE", "%C3", "a%80"])
    func invalidText(key: String) throws {
        let rest = try conversation()
        #expect(rest.text("PUT", "/\(key).json", "1").hasPrefix("400 "))
        #expect(throws: LarderError.self) { try RESTRequest("GET", "/a.json?orderBy=\(key)") }
        #expect(rest.tree == "null")
    }

    @Test("a byte order mark is part of a key")
    func byteOrderMark() throws {
        let rest = try conversation()
        #expect(rest.text("PUT", "/%EF%BB%BFx.json", "1") == "200 1")
        #expect(rest.text("GET", "/x.json") == "200 null")
        #expect(rest.text("GET", "/%EF%BB%BFx.json") == "200 1")
    }

    @Test("a post can stand for other methods")
    func override() throws {
        let rest = try conversation()
        #expect(
            rest.text("POST", "/a.json", "1", headers: [("X-HTTP-Method-Override", "PUT")])
                == "200 1")
        #expect(rest.text("POST", "/a.json?x-http-method-override=DELETE", "") == "200 null")
        #expect(rest.text("HEAD", "/a.json").hasPrefix("405 "))
        #expect(
            rest.text("POST", "/a.json", "1", headers: [("X-HTTP-Method-Override", "FOO")])
                .hasPrefix("405 "))
    }

    // MARK: Forms of answers

    @Test("answers are pretty, silent, shallow, exported, for functions and for files")
    func forms() throws {
        let rest = try conversation(#"{"a":{"b":[1],"c":{}},"d":{".value":1,".priority":2}}"#)
        #expect(
            rest.text("GET", "/.json?print=pretty")
                == "200 {\n  \"a\" : {\n    \"b\" : [ 1 ]\n  },\n  \"d\" : 1\n}")
        #expect(rest.text("GET", "/.json?print=silent") == "204")
        #expect(rest.text("GET", "/.json?shallow=true") == #"200 {"a":true,"d":true}"#)
        #expect(rest.text("GET", "/d.json?shallow=true") == "200 1")
        #expect(rest.text("GET", "/none.json?shallow=true") == "200 null")
        #expect(
            rest.text("GET", "/.json?format=export")
                == #"200 {"a":{"b":{"0":1}},"d":{".value":1,".priority":2}}"#)
        let function = rest.send("GET", "/d.json?callback=a.b")
        #expect(function?.header("Content-Type") == "application/javascript; charset=utf-8")
        #expect(rest.text("GET", "/d.json?callback=a.b") == "200 a.b(1);")
        #expect(rest.text("GET", "/d.json?callback=alert(1)") == "200 1")
        #expect(
            rest.send("GET", "/d.json?download=x%22%0Ay.json")?.header("Content-Disposition")
                == #"attachment; filename="xy.json""#)
    }

    @Test(
        "invalid requests are refused",
        arguments: [
            ("GET", "/a", "", 404), ("GET", "a.json", "", 404), ("GET", "/a.b.json", "", 400),
            ("GET", "/a%23.json", "", 400), ("GET", "/a%2Fb.json", "", 400),
            ("GET", "/a%00.json", "", 400),
            ("PUT", "/a.json", "", 400), ("PUT", "/a.json", "{", 400),
            ("PUT", "/a.json", "1 2", 400),
            ("PUT", "/a.json", #"{"x.y":1}"#, 400), ("PUT", "/.info/x.json", "1", 400),
            ("PUT", "/a.json", #"{"":1}"#, 400), ("PUT", "/a.json", #"{"a":1,"a":2}"#, 400),
            ("PUT", "/a/.priority.json", "true", 400), ("GET", "/a.json?print=loud", "", 400),
            ("GET", "/a.json?format=xml", "", 400), ("GET", "/a.json?timeout=16min", "", 400),
            ("GET", "/a.json?timeout=x", "", 400), ("GET", "/a.json?timeout=0s", "", 400),
            ("GET", "/a.json?timeout=999999999999999999999ms", "", 400),
            ("PUT", "/a.json?writeSizeLimit=huge", "1", 400), ("PATCH", "/a.json", "1", 400),
            ("GET", "/a.json?shallow=true&orderBy=%22$key%22", "", 400),
        ])
    func invalid(method: String, target: String, body: String, status: Int) throws {
        let rest = try conversation("1")
        let response = try #require(rest.send(method, target, body))
        #expect(response.status == status, "\(method) \(target)")
        #expect(String(decoding: response.body, as: UTF8.self).hasPrefix(#"{"error":""#))
        #expect(rest.tree == "1")
    }

    @Test("limits of time and size that are kept are no errors")
    func limits() throws {
        let rest = try conversation()
        for timeout in ["3ms", "3s", "3min", "15min", "900s"] {
            #expect(rest.text("GET", "/a.json?timeout=\(timeout)") == "200 null")
        }
        let large = "\"" + String(repeating: "x", count: 2 << 20) + "\""
        #expect(rest.text("PUT", "/a.json?writeSizeLimit=tiny", large).hasPrefix("400 "))
        for limit in ["small", "medium", "large", "unlimited"] {
            #expect(
                rest.text("PUT", "/a.json?print=silent&writeSizeLimit=\(limit)", large) == "204")
        }
    }

    @Test("several databases are told apart by a parameter, or by the host")
    func namespaces() throws {
        let rest = try conversation()
        #expect(rest.text("PUT", "/a.json?ns=x", "1") == "200 1")
        #expect(
            rest.text("PUT", "/a.json", "2", headers: [("Host", "y.example.com:9000")]) == "200 2")
        #expect(rest.backend.tree(of: "x").description == #"{"a":1}"#)
        #expect(rest.backend.tree(of: "y").description == #"{"a":2}"#)
        #expect(rest.text("GET", "/a.json", headers: [("Host", "127.0.0.1:9000")]) == "200 null")
        #expect(rest.text("GET", "/a.json", headers: [("Host", "localhost")]) == "200 null")
    }

    // MARK: Conditions

    @Test("tags are those of the data, and writes can depend on them")
    func tags() throws {
        let rest = try conversation(#"{"a":1}"#)
        let tagged: [(name: String, value: String)] = [("X-Firebase-ETag", "true")]
        let first = try #require(rest.send("GET", "/a.json", headers: tagged)?.header("ETag"))
        #expect(rest.send("GET", "/a.json")?.header("ETag") == nil)
        #expect(rest.send("GET", "/none.json", headers: tagged)?.header("ETag") == "null_etag")
        let set = try #require(rest.send("PUT", "/a.json", "2", headers: [("If-Match", first)]))
        let second = try #require(set.header("ETag"))
        #expect(set.status == 200 && second != first)
        let stale = try #require(rest.send("PUT", "/a.json", "3", headers: [("if-match", first)]))
        #expect(
            stale.status == 412 && stale.header("ETag") == second && stale.body == Array("2".utf8))
        #expect(rest.text("DELETE", "/a.json", headers: [("If-Match", first)]) == "412 2")
        #expect(
            rest.text("DELETE", "/a.json", headers: [("If-Match", "\"\(second)\"")]) == "200 null")
        #expect(rest.text("PUT", "/a.json", "1", headers: [("If-Match", "null_etag")]) == "200 1")
        #expect(rest.text("PUT", "/a.json", "1", headers: [("If-Match", "null_etag")]) == "412 1")
        #expect(rest.send("PUT", "/a.json", "5", headers: tagged)?.header("ETag") != nil)
        #expect(
            rest.text("PATCH", "/a.json", #"{"b":1}"#, headers: [("If-Match", first)]).hasPrefix(
                "400 "))
        #expect(
            rest.text("PUT", "/a.json?print=silent", "1", headers: [("If-Match", first)]).hasPrefix(
                "400 "))
    }

    @Test("reads can depend on a tag, too")
    func unchanged() throws {
        let rest = try conversation(#"{"a":{"b":1}}"#)
        let tag = try #require(
            rest.send("GET", "/a.json", headers: [("X-Firebase-ETag", "true")])?.header("ETag"))
        let same = try #require(rest.send("GET", "/a.json", headers: [("If-None-Match", tag)]))
        #expect(same.status == 304 && same.body.isEmpty && same.header("ETag") == tag)
        let other = try #require(rest.send("GET", "/a.json", headers: [("If-None-Match", "x")]))
        #expect(other.status == 200 && other.header("ETag") == tag)
    }

    // MARK: Users

    @Test("requests are made as the user of a token, whatever its place")
    func users() throws {
        let rest = try conversation(
            #"{"ada":1}"#,
            rules:
                #"{"rules": {"$uid": {".read": "auth.uid == $uid", ".write": "auth.uid == $uid"}}}"#
        )
        #expect(rest.text("GET", "/ada.json") == #"401 {"error":"Permission denied"}"#)
        #expect(rest.text("GET", "/ada.json?auth=ada") == "200 1")
        #expect(rest.text("GET", "/ada.json?access_token=ada") == "200 1")
        #expect(
            rest.text("GET", "/ada.json", headers: [("Authorization", "Bearer ada")]) == "200 1")
        #expect(
            rest.text("PUT", "/bob.json?auth=ada", "1") == #"401 {"error":"Permission denied"}"#)
        #expect(
            rest.text("GET", "/.json", headers: [("Authorization", "Bearer owner")])
                == #"200 {"ada":1}"#)
        #expect(rest.text("GET", "/ada.json?auth=old") == #"401 {"error":"Auth token is expired"}"#)
        #expect(
            rest.text("GET", "/ada.json?auth=bad")
                == #"401 {"error":"Could not parse auth token."}"#)
        #expect(rest.text("GET", "/ada.json?auth=short") == "200 1")
        rest.scheduler.clock.advance(by: .seconds(11))
        #expect(
            rest.text("GET", "/ada.json?auth=short") == #"401 {"error":"Auth token is expired"}"#)
    }

    @Test("an administrator can act as any user")
    func acting() throws {
        let rest = try conversation(
            #"{"ada":1}"#,
            rules: #"{"rules": {"$uid": {".read": "auth.uid == $uid && auth.x == 1"}}}"#)
        let as_ = "auth_variable_override="
        #expect(
            rest.text("GET", "/ada.json?auth=owner&\(as_)%7B%22uid%22:%22ada%22,%22x%22:1%7D")
                == "200 1")
        #expect(
            rest.text("GET", "/ada.json?auth=owner&\(as_)%7B%22uid%22:%22ada%22%7D").hasPrefix(
                "401 "))
        #expect(rest.text("GET", "/ada.json?auth=owner&\(as_)null").hasPrefix("401 "))
        #expect(rest.text("GET", "/ada.json?auth=owner&\(as_)1").hasPrefix("400 "))
        #expect(rest.text("GET", "/ada.json?auth=owner&\(as_)%7B").hasPrefix("400 "))
        #expect(rest.text("GET", "/ada.json?auth=ada&\(as_)null").hasPrefix("401 "))
    }

    @Test("a request for fewer rights that is not valid, or that others are beside, is refused")
    func invalidActing() throws {
        let rest = try conversation(#"{"ada":1}"#)
        let as_ = "auth_variable_override="
        #expect(rest.text("GET", "/ada.json") == "200 1")
        for (query, status) in [
            ("\(as_)null", 401), ("\(as_)%7B%7D", 401), ("\(as_)1", 400), ("\(as_)", 400),
            ("auth=owner&\(as_)null&\(as_)null", 400), ("auth=owner&\(as_)null&\(as_)1", 400),
            ("auth=owner&noauth=true", 400), ("auth=owner&authvar=%7B%7D", 400),
            ("auth=ada&auth=owner", 400), ("access_token=ada&auth=owner", 400),
        ] {
            for accept in ["application/json", "text/event-stream"] {
                let answer = rest.send(
                    "GET", "/ada.json?\(query)", headers: [("Accept", accept)])
                #expect(answer?.status == status, "\(query)")
            }
            #expect(rest.send("PUT", "/ada.json?\(query)", "2")?.status == status, "\(query)")
            let rules = rest.send("GET", "/.settings/rules.json?\(query)")
            #expect(rules?.status == status, "\(query)")
        }
        #expect(rest.text("GET", "/ada.json?auth=owner&access_token=owner") == "200 1")
        #expect(rest.tree == #"{"ada":1}"#)
    }

    @Test("characters of all planes are the same wherever they occur, escaped or not")
    func planes() throws {
        var random = SeededRandom()
        let rest = try conversation(
            rules: #"{"rules":{"t":{".read":"auth.text === data.child(auth.key).val()"}}}"#)
        func escaped(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        }
        for round in 0..<100 {
            let (key, text) = (random.nameOfAllPlanes(), random.textOfAllPlanes())
            let body = "{\(random.json(key)):\(random.json(text))}"
            let method = round.isMultiple(of: 2) ? "PUT" : "PATCH"
            let auth = #"{"text":\#(random.json(text)),"key":\#(random.json(key))}"#
            let filter = escaped(random.json(text))
            for target in [
                "auth=owner", "auth=owner&auth_variable_override=\(escaped(auth))",
                "auth=owner&orderBy=%22$value%22&equalTo=\(filter)",
                "auth=owner&orderBy=%22$key%22&equalTo=\(escaped(random.json(key)))",
            ] {
                #expect(rest.text("PUT", "/t.json?auth=owner", "null") == "200 null")
                #expect(rest.send(method, "/t.json?auth=owner", body)?.status == 200)
                let answer = try #require(rest.send("GET", "/t.json?\(target)"))
                let json = try JSONSerialization.jsonObject(with: Data(answer.body))
                let child = (json as? [String: String])?.first
                #expect(child?.key.utf8.elementsEqual(key.utf8) == true, "\(random) \(target)")
                #expect(child?.value.utf8.elementsEqual(text.utf8) == true, "\(random) \(target)")
            }
        }
    }

    @Test("rules are read and replaced by administrators")
    func rules() throws {
        let rest = try conversation("1")
        let path = "/.settings/rules.json"
        #expect(rest.text("GET", path).hasPrefix("401 "))
        #expect(rest.text("PUT", path, #"{"rules":{}}"#).hasPrefix("401 "))
        let text = #"{"rules": {"a": {".read": true}}} // open"#
        #expect(rest.text("PUT", path + "?auth=owner", text) == #"200 {"status":"ok"}"#)
        #expect(rest.text("GET", path + "?auth=owner") == "200 " + text)
        #expect(rest.text("GET", "/a.json") == "200 null")
        #expect(rest.text("GET", "/.json").hasPrefix("401 "))
        #expect(
            rest.text("PUT", path + "?auth=owner", #"{"rules": {".read": "foo"}}"#)
                == #"400 {"error":"the rules are invalid: line 1, column 22: /.read: the variable 'foo' is unknown"}"#
        )
        #expect(rest.text("DELETE", path + "?auth=owner").hasPrefix("405 "))
        #expect(
            rest.text("GET", path + "?auth=owner&format=strict") == """
                200 {
                  "rules" : {
                    "a" : {
                      ".read" : true
                    }
                  }
                }
                """)
        #expect(rest.text("GET", path + "?auth=owner&format=x").hasPrefix("400 "))
        let open = try SecurityRules(
            String(rest.text("GET", path + "?auth=owner&ns=other").dropFirst(4)))
        #expect(open.text.contains(".read") && open.text.contains(".write"))
        #expect(rest.text("GET", "/b.json?ns=other") == "200 null")
        #expect(rest.text("PUT", path + "?auth=owner&ns=other", #"{"rules":{}}"#).hasPrefix("200 "))
        #expect(rest.text("GET", "/b.json?ns=other").hasPrefix("401 "))
        #expect(rest.text("GET", path + "?auth=owner") == "200 " + text)
        rest.perform { $0.setSecurityRules(nil) }
        #expect(rest.text("GET", "/b.json?ns=other") == "200 null")
    }
}
