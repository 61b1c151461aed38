import LarderCore
import LarderRealtimeModel
import LarderRealtimeRules
import Testing

@Suite("Problems of rules files")
struct RulesProblemTests {
    private func problems(_ text: String) -> [String] {
        SecurityRules.problems(in: text).map(\.description)
    }

    @Test("problems have the line and column of what is wrong")
    func places() {
        #expect(
            problems(
                """
                {"rules": {
                  ".read": "auth.uid == $uid",
                  "a": {".write": "true &&",
                        ".validate": 7},
                  ".other": true,
                  "$x": {"$y": {}, "$z": {}, ".indexOn": 1}
                }}
                """) == [
                    "line 2, column 25: /.read: the variable '$uid' is unknown",
                    "line 3, column 27: /a/.write: expected an expression instead of the end of the expression",
                    "line 4, column 22: /a/.validate: a rule is true, false or an expression in a string",
                    "line 5, column 3: '.other' is no rule: the rules are .read, .write, .validate and .indexOn",
                    "line 6, column 20: /$x: there is a variable already, '$y'",
                    "line 6, column 42: /$x/.indexOn: .indexOn is a string or a list of strings",
                ])
    }

    @Test("trailing commas of objects and lists are accepted, others are not")
    func trailingCommas() {
        #expect(
            problems(
                #"{"rules": {".read": "now < 1", ".indexOn": ["a", "b",], "c": {".write": true,},},}"#
            )
                == [])
        for text in [
            #"{"rules": {,}}"#, #"{"rules": {".indexOn": [,]}}"#,
            #"{"rules": {".read": true,,}}"#, #"{"rules": {".indexOn": ["a",,]}}"#,
        ] {
            #expect(problems(text).count == 1, "\(text)")
        }
    }

    @Test("expressions may have comments, also over several lines")
    func comments() {
        #expect(
            problems(
                """
                {"rules": {
                  ".read": "auth != null /* anybody */ && // who is known
                      /* and
                         later */ now > 1 // '",
                  ".write": "newData.val() / 2 > 1 && auth.uid.matches(/a\\\\/b/)"
                }}
                """) == [])
        #expect(
            problems(#"{"rules": {".read": "true /* x"}}"#) == [
                "line 1, column 27: /.read: the comment has no end"
            ])
        #expect(problems(#"{"rules": {".read": "// x"}}"#).count == 1)
    }

    @Test("escapes and line breaks in a string count as the bytes that they have in the file")
    func escapes() {
        #expect(
            problems(#"{"rules": {".read": "'\u0041\"' == 'A' && foo"}}"#) == [
                "line 1, column 43: /.read: the variable 'foo' is unknown"
            ])
        #expect(
            problems("{\"rules\": {\".read\": \"true\n  && \\n foo\"}}") == [
                "line 2, column 9: /.read: the variable 'foo' is unknown"
            ])
        #expect(
            problems(#"{"rules": {".read": "auth.x.matches(/a\\d[/)"}}"#) == [
                "line 1, column 37: /.read: the regular expression has no end"
            ])
        #expect(
            problems(#"{"rules": {".read": "auth.x.matches(/a\\d)/)"}}"#) == [
                "line 1, column 42: /.read: ')' closes no group"
            ])
    }

    @Test(
        "what is no rules file is refused, with one problem",
        arguments: [
            ("", "line 1, column 1: the text ends where a value is expected"),
            ("{", "line 1, column 2: expected a name in quotes"),
            ("[]", "line 1, column 1: a rules file is an object with the single member 'rules'"),
            ("{}", "line 1, column 1: a rules file is an object with the single member 'rules'"),
            (
                #"{"rules": {}, "x": 1}"#,
                "line 1, column 1: a rules file is an object with the single member 'rules'"
            ),
            (#"{"rules": true}"#, "line 1, column 11: rules are an object"),
            (#"{"rules": {"a": 1}}"#, "line 1, column 17: /a: rules are an object"),
            (#"{"rules": {}} x"#, "line 1, column 15: more text after the rules"),
            (#"{"rules": {"a": {}, "a": {}}}"#, "line 1, column 21: the name 'a' occurs twice"),
            (#"{"rules": {"a": {},,}}"#, "line 1, column 20: expected a name in quotes"),
            (#"{"rules": {/* }}"#, "line 1, column 12: the comment has no end"),
            (#"{"rules": / {}}"#, "line 1, column 11: a single '/' begins no comment"),
            (#"{"rules": {".read": "true}}"#, "line 1, column 21: the string has no end"),
            (
                #"{"rules": {".read": "\q"}}"#,
                "line 1, column 22: an escape that JSON does not have"
            ),
            (#"{"rules": {".read": "\ud800"}}"#, "line 1, column 22: half of a surrogate pair"),
            (#"{"rules": {".read": tru}}"#, "line 1, column 21: expected a JSON value"),
            (
                #"{"rules": {".read": null}}"#,
                "line 1, column 21: /.read: a rule is true, false or an expression in a string"
            ),
            (#"{"rules": {"$": {}}}"#, "line 1, column 12: the variable has no name"),
            (
                #"{"rules": {"$a": {"$a": {}}}}"#,
                "line 1, column 19: /$a: the variable '$a' has been used above"
            ),
            (
                #"{"rules": {".indexOn": ["a", 1]}}"#,
                "line 1, column 30: /.indexOn: an index is a string"
            ),
            (
                #"{"rules": {".indexOn": ""}}"#,
                "line 1, column 24: /.indexOn: the path of the index is empty"
            ),
        ])
    func files(text: String, problem: String) throws {
        #expect(problems(text) == [problem])
        let error = #expect(throws: LarderError.self) { try SecurityRules(text) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == "the rules are invalid: " + problem)
    }

    @Test("keys that no data can have are refused")
    func keys() {
        for key in ["a.b", "a/b", "a#", "a[", "x$y", "", String(repeating: "k", count: 769)] {
            #expect(problems(#"{"rules": {"\#(key)": {}}}"#).count == 1, "\(key)")
        }
        for key in ["a b", "é", "-", "0", "$a b"] {
            #expect(problems(#"{"rules": {"\#(key)": {}}}"#) == [], "\(key)")
        }
    }

    @Test("an error names the first problem and counts the others")
    func several() throws {
        let error = #expect(throws: LarderError.self) {
            try SecurityRules(#"{"rules": {".read": "1", ".write": "2", "a": {".read": ""}}}"#)
        }
        #expect(
            error?.message
                == "the rules are invalid: line 1, column 22: /.read: a rule must be boolean, not a number (and 2 more)"
        )
    }
}
