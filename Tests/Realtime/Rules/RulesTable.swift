/// Rules and requests, with the part of Firebase's documentation that says what is allowed.
enum RulesTable {
    static let cases = cascading + validation + variables + conditions

    // MARK: Cascading

    private static let cascading = [
        RulesCase(
            source: "core syntax: access is denied by default", rules: #"{"rules": {}}"#, data: "1",
            deniedReads: ["", "a"], deniedWrites: [("", "1"), ("a", "1"), ("a", "null")]),
        RulesCase(
            source: "basics: true for all",
            rules: #"{"rules": {".read": true, ".write": true}}"#, reads: ["", "a/b/c"],
            writes: [("", "1"), ("a/b", "null"), ("a;b/c", "1;2")]),
        RulesCase(
            source: "core syntax: rules grant what is below",
            rules: """
                {"rules": {"foo": {
                  ".read": "data.child('baz').val() === true",
                  "bar": {".read": false, ".write": "true"}}}}
                """, data: #"{"foo": {"baz": true, "bar": 1}}"#,
            reads: ["foo", "foo/bar", "foo/bar/deep", "foo/other"],
            deniedReads: ["", "fo", "food"],
            writes: [("foo/bar", "1"), ("foo/bar/x", "1"), ("foo/bar", "null")],
            deniedWrites: [("foo", "1"), ("", "1"), ("foo/baz", "1"), ("foo/bar;foo/baz", "1;1")]),
        RulesCase(
            source: "core syntax: rules are not filters",
            rules: #"{"rules": {"records": {"rec1": {".read": true}, "rec2": {".read": false}}}}"#,
            data: #"{"records": {"rec1": 1, "rec2": 2}}"#, reads: ["records/rec1"],
            deniedReads: ["records", "records/rec2", ""]),
        RulesCase(
            source: "core syntax: a rule sees the data of its own place",
            rules: #"{"rules": {"a": {".read": "data.child('on').val() == true"}}}"#,
            data: #"{"a": {"on": true, "b": {"on": false}}}"#, reads: ["a", "a/b"]),
        RulesCase(
            source: "ours: a rule that fails does not hold, and others are still asked",
            rules: """
                {"rules": {".read": "auth.uid.length > 1", "a": {".read": "true"},
                           ".write": "root.parent().exists()", "b": {".write": "1 < now"}}}
                """, reads: ["a"], deniedReads: ["", "b"], writes: [("b", "1")],
            deniedWrites: [("a", "1")]),
        RulesCase(
            source: "core syntax: updates of several locations are allowed as a whole",
            rules: """
                {"rules": {"a": {".write": true}, "b": {".write": "newData.parent().child('a').exists()"},
                           "c": {".write": "!data.exists()"}}}
                """, data: #"{"c": 1}"#,
            writes: [("a", "1"), ("a;b", "1;2"), ("b;a", "1;2")],
            deniedWrites: [("b", "1"), ("a;c", "1;2"), ("b;a", "2;null")]),
        RulesCase(
            source: "core syntax: a priority is written with its node",
            rules: #"{"rules": {"a": {".write": "newData.getPriority() != null"}}}"#,
            data: #"{"a": 1}"#,
            writes: [("a/.priority", "3")], deniedWrites: [("b/.priority", "3"), ("a", "2")]),
    ]

    // MARK: Validation

    private static let validation = [
        RulesCase(
            source: "conditions: .validate does not cascade",
            rules: """
                {"rules": {"widget": {
                  ".write": true,
                  ".validate": "newData.hasChildren(['color', 'size'])",
                  "size": {".validate": "newData.isNumber() && newData.val() >= 0 && newData.val() <= 99"},
                  "color": {".validate": "root.child('valid_colors/' + newData.val()).exists()"}}}}
                """, data: #"{"valid_colors": {"black": 1, "green": 1}}"#,
            writes: [
                ("widget", #"{"size": 20, "color": "black"}"#), ("widget", "null"),
                ("widget/size;widget/color", #"5;"green""#),
                ("widget", #"{"size": 20, "color": "black", "more": {"x": 1}}"#),
            ],
            deniedWrites: [
                ("widget/size", "99"), ("widget", #"{"size": 5}"#), ("widget", #""red""#),
                ("widget", #"{"size": 100, "color": "black"}"#),
                ("widget", #"{"size": 5, "color": "red"}"#),
                ("widget", #"{"size": "5", "color": "black"}"#),
                ("widget/size;widget/color", #"5;"red""#), ("widget/color", "7"),
            ]),
        RulesCase(
            source: "conditions: .validate of places above is asked again",
            rules: """
                {"rules": {".write": true, "widget": {".validate": "newData.hasChildren(['color', 'size'])"}}}
                """, data: #"{"widget": {"color": "red", "size": 1}, "other": 1}"#,
            writes: [
                ("widget/size", "2"), ("widget/more/deep", "1"), ("widget", "null"),
                ("other", "null"),
                ("", "null"), ("", #"{"other": 1}"#),
            ],
            deniedWrites: [
                ("widget/size", "null"), ("", #"{"widget": 1}"#),
                ("widget/color;widget/size", "null;1"),
            ]),
        RulesCase(
            source: "conditions: unknown children",
            rules: """
                {"rules": {"user": {".write": true, "name": {".validate": "newData.isString()"},
                  "$other": {".validate": false}}}}
                """,
            writes: [
                ("user", #"{"name": "Ada"}"#), ("user/name", #""Bob""#), ("user/other", "null"),
            ],
            deniedWrites: [
                ("user", #"{"name": "Ada", "age": 1}"#), ("user/age", "1"), ("user/name", "1"),
                ("user/age/years", "1"),
            ]),
        RulesCase(
            source: "conditions: validation of each of many",
            rules: """
                {"rules": {"posts": {".write": true, "$post": {
                  "title": {".validate": "newData.isString() && newData.val().length < 10"},
                  "tags": {"$tag": {".validate": "newData.val() == true && $tag.length > 1"}}}}}}
                """,
            writes: [
                ("posts", #"{"a": {"title": "x"}, "b": {"title": "y", "tags": {"go": true}}}"#),
                ("posts/a/tags", #"{"ab": true}"#), ("posts/a/tags/ab", "null"), ("posts", "7"),
            ],
            deniedWrites: [
                ("posts", #"{"a": {"title": "x"}, "b": {"title": 1}}"#),
                ("posts", #"{"a": {"title": "0123456789"}}"#),
                ("posts/a/tags", #"{"ab": true, "c": true}"#), ("posts/a/tags/ab", "false"),
            ]),
        RulesCase(
            source: "conditions: .validate grants nothing",
            rules: #"{"rules": {"a": {".validate": true, ".read": true}}}"#, reads: ["a"],
            deniedWrites: [("a", "1"), ("a", "null")]),
        RulesCase(
            source: "reference: .validate is not asked for removed data",
            rules: #"{"rules": {"a": {".write": true, ".validate": false}}}"#, data: #"{"a": 1}"#,
            writes: [("a", "null")], deniedWrites: [("a", "1"), ("a/b", "1")]),
        RulesCase(
            source: "conditions: server values are validated as numbers",
            rules: """
                {"rules": {"t": {".write": true, ".validate": "newData.val() == now"},
                           "u": {".write": true, ".validate": "newData.val() <= now"}}}
                """, writes: [("t", "1700000000000"), ("u", "1")],
            deniedWrites: [("t", "1"), ("u", "1700000000001")]),
    ]

    // MARK: Variables

    private static let variables = [
        RulesCase(
            source: "core syntax: $ variables capture keys",
            rules: """
                {"rules": {"rooms": {"$room_id": {"topic": {
                  ".write": "root.child('room_names/' + $room_id + '/topic').exists() == false"}}}}}
                """, data: #"{"room_names": {"x": {"topic": 1}}}"#,
            writes: [("rooms/y/topic", #""t""#)],
            deniedWrites: [("rooms/x/topic", #""t""#), ("rooms/y", "1"), ("rooms/y/other", "1")]),
        RulesCase(
            source: "core syntax: names come before variables",
            rules: """
                {"rules": {"$any": {".read": "$any != 'b'"}, "a": {".read": false},
                  "c": {"d": {".read": true}}}}
                """, reads: ["x", "x/y", "c/d"], deniedReads: ["a", "a/x", "b", "c", "c/e"]),
        RulesCase(
            source: "conditions: user's own data",
            rules: """
                {"rules": {"users": {"$uid": {".read": "auth != null && auth.uid == $uid",
                  ".write": "auth != null && auth.uid == $uid"}}}}
                """, auth: #"{"uid": "ada"}"#, reads: ["users/ada", "users/ada/x"],
            deniedReads: ["users/bob", "users", "users/ada2"], writes: [("users/ada", "1")],
            deniedWrites: [
                ("users/bob", "1"), ("users", #"{"ada": 1}"#), ("users/ada;users/bob", "1;1"),
            ]),
        RulesCase(
            source: "core syntax: several variables",
            rules: """
                {"rules": {"$a": {"$b": {"$c": {".read": "$a == 'x' && $b == $a && $c.length == 2"}}}}}
                """, reads: ["x/x/yy", "x/x/yy/deep"], deniedReads: ["x/x/y", "y/y/yy", "x/x"]),
    ]

    // MARK: Conditions

    private static let conditions = [
        RulesCase(
            source: "conditions: existing data and new data",
            rules: """
                {"rules": {".write": "!data.exists() || !newData.exists()"}}
                """, data: #"{"a": 1}"#, writes: [("", "null"), ("a", "null")],
            deniedWrites: [("a", "2"), ("b", "1")]),
        RulesCase(
            source: "conditions: other paths",
            rules: """
                {"rules": {"private": {
                  ".write": "root.child('allow_writes').val() === true && !data.parent().child('readOnly').exists() && newData.child('foo').exists()"}}}
                """, data: #"{"allow_writes": true}"#, writes: [("private", #"{"foo": 1}"#)],
            deniedWrites: [("private", "1"), ("private", "null"), ("private/bar", "1")]),
        RulesCase(
            source: "conditions: roles in the data",
            rules: """
                {"rules": {"rooms": {"$room": {
                  ".read": "root.child('members').child($room).child(auth.uid).exists()",
                  ".write": "root.child('members').child($room).child(auth.uid).val() == 'owner'"}}}}
                """,
            data: #"{"members": {"r": {"ada": "owner", "bob": "guest"}, "s": {"ada": "guest"}}}"#,
            auth: #"{"uid": "ada"}"#, reads: ["rooms/r", "rooms/s"],
            deniedReads: ["rooms/t", "rooms"],
            writes: [("rooms/r/x", "1")], deniedWrites: [("rooms/s/x", "1")]),
        RulesCase(
            source: "conditions: an author's messages",
            rules: """
                {"rules": {"messages": {"$id": {
                  ".write": "newData.exists() ? newData.child('author').val() == auth.uid : data.child('author').val() == auth.uid",
                  ".validate": "newData.hasChildren(['author', 'text'])"}}}}
                """,
            data:
                #"{"messages": {"1": {"author": "ada", "text": "x"}, "2": {"author": "bob", "text": "x"}}}"#,
            auth: #"{"uid": "ada"}"#,
            writes: [
                ("messages/3", #"{"author": "ada", "text": "y"}"#), ("messages/1", "null"),
                ("messages/1/text", #""z""#),
            ],
            deniedWrites: [
                ("messages/3", #"{"author": "bob", "text": "y"}"#), ("messages/2", "null"),
                ("messages/1/text", "null"), ("messages/2/text", #""z""#),
            ]),
        RulesCase(
            source: "conditions: rate by time",
            rules: """
                {"rules": {"$uid": {".write": "newData.val() == now && (!data.exists() || now > data.val() + 5000)"}}}
                """, data: #"{"a": 1699999990000, "b": 1699999996000}"#,
            writes: [("a", "1700000000000"), ("c", "1700000000000")],
            deniedWrites: [("b", "1700000000000"), ("a", "1")]),
        RulesCase(
            source: "ours: rules with comments, and with line breaks in expressions",
            rules: """
                /* rules */ {"rules": { // all
                  "a": {".read": "true
                    && true"}, /* ** / */ "b": {".read": "'//' != '/*'"}
                }}
                // the end
                """, reads: ["a", "b"]),
    ]
}
