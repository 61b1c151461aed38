/// Expressions and their results.
///
/// A source "reference" is Firebase's "Database Security Rules API", "regular expressions" and
/// "conditions" are its guides of that name; "service" is the behaviour that the open source project
/// targaryen has recorded of the service itself; "ours" is a decision of this project.
enum ExpressionTable {
    static let sections = variables + snapshots + strings + operators

    // MARK: Variables

    static let variables = [
        RuleSection(
            source: "reference: auth",
            holds: [
                "auth != null", "auth !== null", "auth.uid == 'bob'", "auth.uid === \"bob\"",
                "auth.provider === 'custom'", "auth.token.email_verified == true",
                "auth.token.email == 'bob@example.com'", "auth['uid'] == 'bob'",
                "auth.token['foo'].bar == true", "auth.token.level == 2.5",
                "auth.uid == $room || auth.uid == data.child('owner').val()",
                "auth.token.none == null", "auth.none.deeper == null", "auth.uid.length == 3",
                "auth.token.length == 9", "auth.token[auth.none == null ? 'email' : 'x'] != null",
                "auth.list[0] == 'a'", "auth.list[2] == null",
            ],
            fails: [
                "auth == null", "auth.uid == 'ann'", "auth.token.admin == true",
                "auth.someInt == '1'", "auth.uid == $room", "auth.list.length == 2",
            ],
            stops: ["auth.token[auth.none] == null", "auth.none.length > 0"],
            invalid: ["auth", "auth.token.admin", "auth.uid", "auth.()", "auth.uid.foo()"]),
        RuleSection(
            source: "reference: auth is null without authentication", auth: "null",
            holds: ["auth == null", "auth.uid == null", "auth.uid !== 'eviluser'"],
            fails: ["auth != null", "auth !== null", "auth.uid == 'bob'"],
            stops: ["auth.uid.contains('b')", "root.child('users').child(auth.uid).exists()"]),
        RuleSection(
            source: "reference: now",
            holds: [
                "now == 1700000000000", "now > 1600000000000", "now + 1 > now",
                "'' + now == '1700000000000'", "now - 86400000 < now",
            ],
            fails: ["now < 0", "now == '1700000000000'"],
            invalid: ["now", "now.length > 1", "now > 'x'", "now()", "now.foo == 1"]),
        RuleSection(
            source: "reference: $location",
            holds: [
                "$room == 'lobby'", "$room.length == 5", "$room.beginsWith('lob')",
                "root.child('rooms').child($room).exists()", "'x' + $room == 'xlobby'",
                "root.child('rooms/' + $room + '/name').val() == 'Lobby'",
            ],
            fails: ["$room == 'hall'", "$room == null"],
            invalid: ["$other == 'lobby'", "$room", "$room > 1", "$room.foo == 1"]),
        RuleSection(
            source: "reference: root, data, newData",
            holds: [
                "root.child('rooms/lobby/name').val() == data.child('name').val()",
                "data.child('name').val() == 'Lobby'", "newData.child('name').val() == 'Hall'",
                "newData.child('size').val() == data.child('size').val() + 1",
                "!newData.child('members').exists()", "root.exists()",
                "newData.parent().parent().child('users/bob/age').val() == 30",
                "root.child('rooms/lobby/size').val() == 3",
            ],
            fails: ["data.child('added').exists()", "newData.child('text').exists()"],
            invalid: [
                "root", "data", "newData == data", "data == null", "root = 5", "data.child",
                "data.exists", "Root.exists()",
            ]),
    ]

    // MARK: Snapshots

    static let snapshots = [
        RuleSection(
            source: "reference: val()",
            holds: [
                "data.child('size').val() == 3", "data.child('open').val() == true",
                "data.child('ratio').val() === 0.5", "data.child('none').val() == null",
                "data.child('members').val() != null", "data.child('name').val().length == 5",
                "data.child('ranked').val() == 'x'", "data.val() != data.val()",
            ],
            fails: ["data.val() == null", "data.child('size').val() == '3'", "data.val() == true"],
            stops: ["data.child('none').val() > 1", "data.child('members').val() < 1"],
            invalid: [
                "data.val", "data.val(1) == 1", "data.val().name == 'x'", "data.val()",
                "data.val()['name'] == 'x'", "data.val().foo() == 1",
            ]),
        RuleSection(
            source: "reference: child()",
            holds: [
                "data.child('members').child('ann').child('role').val() == 'admin'",
                "data.child('members/ann/role').val() == 'admin'",
                "data.child('/members//ann/').exists()", "!data.child('a').child('b').exists()",
                "data.child('members').child(auth.uid).val() == true",
                "data.child('members/' + auth.uid).val() == true",
                "root.child('1').val() == 'one'",
                "root.child('banned/bob@example.com').val() == true",
                "data.child('').child('size').exists()",
                "data.child('name').child('x').val() == null",
            ],
            fails: ["data.child('Members').exists()", "data.child('members bob').exists()"],
            stops: ["data.child(auth.none).exists()", "data.child(auth.someInt).exists()"],
            invalid: [
                "data.child(1).exists()", "data.child().exists()", "data.child('a', 'b').exists()",
                "data.child(null).exists()", "data.child(true).exists()",
                "data.child(data).exists()",
                "data.child('a')", "data.child(['a']).exists()",
            ]),
        RuleSection(
            source: "reference: parent()",
            holds: [
                "data.parent().child('lobby/size').val() == 3",
                "data.child('members').parent().child('size').val() == 3",
                "data.child('members/ann').parent().parent().child('size').val() == 3",
                "data.child('members/' + auth.uid).parent().child('ann').exists()",
                "data.child(auth.uid + '/x').parent().parent().child('size').val() == 3",
                "data.child(auth.uid).parent().parent().parent().child('users').exists()",
                "data.parent().parent().child('users').exists()",
                "data.child(auth.uid).parent().child('size').val() == 3",
                "newData.parent().child('lobby/name').val() == 'Hall'",
            ],
            fails: ["data.parent().child('size').exists()"],
            stops: [
                "root.parent().exists()", "data.parent().parent().parent().exists()",
                "root.child(auth.uid).parent().parent().exists()",
                "!root.parent().child('x').exists()",
                "(auth == null ? data : root).parent().exists()",
            ],
            invalid: ["data.parent('x').exists()", "data.parent.exists()"]),
        RuleSection(
            source: "reference: hasChild()",
            holds: [
                "data.hasChild('name')", "data.hasChild('members/ann')", "!data.hasChild('none')",
                "root.hasChild('banned/' + auth.token.email)", "data.hasChild($room) == false",
            ],
            fails: ["data.hasChild('added')", "data.hasChild('name/x')"],
            stops: ["data.hasChild(auth.none)", "data.hasChild(auth.someBool)"],
            invalid: ["data.hasChild()", "data.hasChild(7)", "data.hasChild('a', 'b')"]),
        RuleSection(
            source: "reference: hasChildren()",
            holds: [
                "data.hasChildren()", "data.hasChildren(['name', 'size'])",
                "newData.hasChildren(['added/b/c'])", "!data.child('name').hasChildren()",
                "data.hasChildren([auth.none == null ? 'name' : 'x'])",
                "data.child('members').hasChildren([auth.uid])",
            ],
            fails: [
                "data.hasChildren(['name', 'none'])", "data.child('none').hasChildren()",
                "data.hasChildren(['none'])",
            ],
            stops: ["data.hasChildren([auth.none])", "data.hasChildren(['none', auth.someInt])"],
            invalid: [
                "data.hasChildren([])", "data.hasChildren('name')", "data.hasChildren(['a', 7])",
                "data.hasChildren('a', 'b')", "data.hasChildren(['a'], ['b'])",
                "data.hasChildren(auth.list)", "data.hasChildren([['a']])",
            ]),
        RuleSection(
            source: "reference: exists(), getPriority()",
            holds: [
                "data.exists()", "data.child('text').exists()", "!data.child('none').exists()",
                "data.child('ranked').getPriority() == 7", "data.getPriority() == null",
                "data.child('named').getPriority() == 'p'",
                "data.child('ranked').getPriority() > 6",
            ],
            fails: ["data.child('none').exists()", "data.child('ranked').getPriority() == '7'"],
            stops: ["data.getPriority() > 1"],
            invalid: ["data.exists('name')", "data.getPriority()", "data.getPriority(1) == 1"]),
        RuleSection(
            source: "reference: isNumber(), isString(), isBoolean()",
            holds: [
                "data.child('size').isNumber()", "data.child('name').isString()",
                "data.child('open').isBoolean()", "data.child('text').isString()",
                "data.child('ratio').isNumber()", "!data.isString()",
                "!data.child('none').isNumber()",
            ],
            fails: [
                "data.child('size').isString()", "data.child('name').isNumber()",
                "data.child('name').isBoolean()", "data.isBoolean()",
                "data.child('none').isString()",
            ],
            invalid: ["data.isNumber", "data.isInteger()", "data.isNumber(1)", "data.isObject()"]),
    ]
}
