extension ExpressionTable {
    // MARK: Strings

    static let strings = [
        RuleSection(
            source: "reference: string.length",
            holds: [
                "'abc'.length == 3", "''.length == 0", "'é'.length == 1", "'😀'.length == 2",
                "data.child('text').val().length < 100", "('a' + 'b').length == 2",
                "'abc'['length'] == 3",
            ],
            fails: ["'abc'.length == '3'"],
            stops: [
                "data.child('none').val().length < 100", "data.child('size').val().length > 0",
            ],
            invalid: ["'abc'.size == 3", "'abc'.length", "1.length == 1", "'abc'.length()"]),
        RuleSection(
            source: "reference: string.contains, beginsWith, endsWith",
            holds: [
                "'foo'.contains('o')", "'foo'.contains('')", "'foo'.beginsWith('fo')",
                "'foo'.beginsWith('')", "'foo'.endsWith('oo')", "'foo'.endsWith('')",
                "'foo'.endsWith('foo')", "'banana'.endsWith('ana')", "'aab'.contains('ab')",
                "auth.token.email.endsWith('@example.com')", "auth.someString['contains']('on')",
                "data.child('name').val().beginsWith('L')",
            ],
            fails: [
                "'foo'.contains('x')", "'foo'.beginsWith('o')", "'foo'.endsWith('f')",
                "'foo'.contains('food')", "'foo'.beginsWith('food')", "'foo'.endsWith('afoo')",
                "'Foo'.contains('f')", "'é'.contains('e')",
            ],
            stops: [
                "'foo'.contains(auth.none)", "'foo1'.contains(auth.someInt)",
                "'f'.endsWith(auth.none)",
                "auth.someInt.contains('1')", "auth.none.beginsWith('x')",
                "data.child('size').val().contains('3')", "'foo'.beginsWith(auth.someBool)",
            ],
            invalid: [
                "'foo'.contains(7)", "'foo'.contains()", "'foo'.startsWith('f')", "'foo'.contains",
                "'foo'.beginsWith('a', 'b')", "now.contains('1')", "(1).contains('1')",
                "auth.someString['nothing']('on')", "null.contains('x')", "true.contains('x')",
            ]),
        RuleSection(
            source: "reference: string.replace",
            holds: [
                "'foo'.replace('o', 'a') == 'faa'", "'foo'.replace('x', 'a') == 'foo'",
                "'a.b.c'.replace('.', ',') == 'a,b,c'", "'foo'.replace('o', '') == 'f'",
                "'aaa'.replace('aa', 'b') == 'ba'",
                "auth.token.email.replace('.', ',') == 'bob@example,com'",
            ],
            fails: ["'foo'.replace('o', 'a') == 'fao'"],
            stops: [
                "'foo'.replace(auth.none, 'x') == 'foo'", "'f1'.replace(auth.someInt, 'x') == 'fx'",
                "'foobar'.replace('bar', auth.someInt) == 'foo1'",
            ],
            invalid: [
                "'foo'.replace('o') == 'f'", "'foo'.replace(/o/, 'a') == 'faa'",
                "'foo'.replace('o', 1) == 'f1'", "'foo'.replace('o', 'a')",
            ]),
        RuleSection(
            source: "reference: string.toLowerCase, toUpperCase",
            holds: [
                "'FoO'.toLowerCase() == 'foo'", "'foo'.toUpperCase() == 'FOO'",
                "'Ä'.toLowerCase() == 'ä'", "auth.uid.toUpperCase() == 'BOB'",
                "data.child('name').val().toLowerCase() == 'lobby'",
            ],
            fails: ["'FOO'.toLowerCase() == 'FOO'"],
            stops: ["auth.none.toLowerCase() == ''", "auth.someInt.toUpperCase() == '1'"],
            invalid: [
                "'foo'.toLowerCase(1) == 'foo'", "'foo'.toLowerCase == 'foo'", "'f'.trim() == 'f'",
            ]),
        RuleSection(
            source: "ours: replacing the empty string", stops: ["'foo'.replace('', 'a') == 'foo'"]),
        RuleSection(
            source: "reference: string literals",
            holds: [
                "'a\\'b' == \"a'b\"", "'\\x41\\u0042' == 'AB'", "'a\\nb'.length == 3",
                "'\\\\' != ''", "\"\\t\".length == 1", "'/' == '\\/'",
            ],
            invalid: [
                "'abc == 'abc'", "'a\\q' == 'q'", "'\\u12' == ''", "`a` == 'a'", "'a' 'b' == 1",
            ]),
    ]

    // MARK: Operators

    static let operators = [
        RuleSection(
            source: "reference: arithmetic",
            holds: [
                "1 + 1 == 2", "5 - 7 == -2", "2 * 3 == 6", "7 / 2 == 3.5", "7 % 4 == 3",
                "-7 % 4 == -3", "2 + 3 * 4 == 14", "(2 + 3) * 4 == 20", "10 - 4 - 3 == 3",
                "-(1 + 1) == -2", "1e3 == 1000", ".5 == 0.5", "auth.someInt + 1 == 2",
                "1 - -1 == 2", "20 / 2 / 5 == 2", "data.child('size').val() % 2 == 1",
            ],
            fails: ["1 + 1 == 3", "1 % auth.someInt == 1"],
            stops: [
                "1 + auth.none == 2", "auth.none - 1 == 0", "1 * auth.someString == 1",
                "1 + auth.someBool == 2", "auth.someBool / 2 == 1", "1 % auth.none == 0",
                "-auth.someString == -1", "-auth.none == 0", "auth + 1 == 1",
                "auth.token + '' == ''",
            ],
            invalid: [
                "1 + true == 2", "null + 1 == 1", "'a' - 1 == 0", "'a' * 2 == 'aa'", "+1 == 1",
                "2 ** 2 == 4", "1 + 1", "1 +", "1 + == 2", "-'a' == 1", "1 + data == 1",
                "5 / true == 5",
                "1.2.3 == 1", "1a == 1", "1 & 1 == 1", "1 | 1 == 1", "~1 == -2",
            ]),
        RuleSection(
            source: "service: no number for a division by zero",
            holds: ["(1/0 + '') == 'NaN'", "1 % 0 != 1 % 0", "1/0 != 1/0"],
            fails: ["(1/0) > 2", "(1/0) < 2", "1/0 == 1/0"]),
        RuleSection(
            source: "reference: + on strings",
            holds: [
                "'a' + 'b' == 'ab'", "'a' + 1 == 'a1'", "1 + 'a' == '1a'", "'x' + 1.5 == 'x1.5'",
                "1 + 2 + 'a' == '3a'", "'a' + 1 + 2 == 'a12'",
                "auth.someString + 'two' == 'onetwo'",
                "'' + 1e21 == '1e+21'", "'' + 0.000001 == '0.000001'", "'' + 1e-7 == '1e-7'",
                "'' + 123456789012345680000 == '123456789012345680000'", "'' + -1.5 == '-1.5'",
            ],
            fails: ["auth.someString + 1 == 2", "'a' + 'b' == 'ba'"],
            stops: ["'a' + auth.none == 'a'", "'a' + auth.someBool == 'atrue'"],
            invalid: ["'a' + true == 'atrue'", "'a' + null == 'a'", "'a' + ['b'] == 'ab'"]),
        RuleSection(
            source: "reference: == and !=",
            holds: [
                "1 == 1.0", "'a' == 'a'", "true == true", "null == null", "'a' != 'b'", "1 !== '1'",
                "1 != null", "true != 1", "'' != null", "auth.none == data.child('none').val()",
                "(1 == 1) == (2 == 2)", "1 == 1 == true", "auth == auth", "false == (1 > 2)",
            ],
            fails: [
                "1 == '1'", "'1' == 1", "0 == false", "0 == null", "'' == null", "'' == false",
                "auth.someInt == 'one'", "'é' == 'e\u{301}'", "auth == auth.token",
            ],
            invalid: [
                "data == data", "data.child('a') != null", "/a/ == /a/", "['a'] == ['a']", "1 = 1",
                "query == null", "1 ==", "== 1", "1 === ",
            ]),
        RuleSection(
            source: "reference: <, <=, >, >=",
            holds: [
                "1 < 2", "2 <= 2", "3 > 2", "3 >= 3", "'a' < 'b'", "'B' < 'a'", "'10' < '9'",
                "'a' <= 'a'", "'ab' > 'a'", "2 > auth.someInt", "'\u{ffff}' > '😀'",
                "data.child('size').val() >= 3", "(1 < 2) == true",
            ],
            fails: ["2 < 1", "'b' < 'a'", "1 > 1", "1 < auth.someInt"],
            stops: [
                "'foo' > auth.none", "auth.none <= 'foo'", "auth.someInt > 'one'", "1 < auth.none",
                "auth.someBool < 2", "auth.none < auth.none", "data.val() > 1",
            ],
            invalid: [
                "1 < 'a'", "'a' >= 1", "data.val() > true", "true < false", "data < 1", "1 < 2 < 3",
                "null >= 1", "data.val() <= null",
            ]),
        RuleSection(
            source: "reference: !, &&, ||",
            holds: [
                "!false", "!!true", "true && true", "false || true", "true || false && false",
                "!(1 > 2)", "!false && true", "true || auth.none.length > 1", "(true)",
                "false && auth.none > 1 || true", "true && true && !false",
            ],
            fails: [
                "!true", "true && false", "false || false", "false && auth.none.length > 1",
                "(true || true) && false", "!(true || false)",
            ],
            stops: [
                "auth.none > 1 || true", "!(auth.none.length > 1)", "auth.none > 1 && false",
                "true && auth.none > 1", "false || auth.none > 1",
            ],
            invalid: [
                "!1", "!auth.someBool", "auth.someBool && true", "true && auth.uid", "1 || true",
                "'a' && 'b'", "!data", "true &&", "&& true", "true & true", "true || ", "!",
                "data.val() || true", "true and true", "not true",
            ]),
        RuleSection(
            source: "reference: ? :",
            holds: [
                "true ? true : false", "false ? false : true", "(true ? 1 : 2) == 1",
                "(auth == null ? 'a' : 'b') == 'b'", "true ? true : auth.none > 1",
                "(true ? data : root).child('size').val() == 3",
                "false ? false : true ? true : false",
                "(true ? 'a' : 1) == 'a'", "(false ? 'a' : 1) == 1",
                "(auth.uid == 'bob' ? newData : data).child('name').val() == 'Hall'",
                "auth.isTernary === true ? root.child('x').exists() : true",
            ],
            fails: ["true ? false : true", "auth != null ? false : true"],
            stops: ["auth.none > 1 ? true : true", "true ? auth.none > 1 : true"],
            invalid: [
                "1 ? true : false", "auth.someBool ? true : false", "true ? 1 : 2", "true ? true",
                "auth.someString === 'one' ? 7 : true", "true ? data : root", "true ? : true",
                "true ? data.val() : data.val()", "(true ? data : 1) == 1", "true : false",
            ]),
        RuleSection(
            source: "reference: a rule is one boolean expression",
            holds: [
                "true", " \n true \t ", "((((true))))", "true // yes\n",
                "/* no */ true // a\n && true",
                "// no\ntrue",
            ], fails: ["false", "false // || true\n"],
            invalid: [
                "", " ", "7", "'foo'", "null", "['a']", "/a/", "query", "var foo = 8",
                "true; false",
                "auth.uid === '5'; auth.id === 5", "function() {}", "skies === 'blue'", "true)",
                "(true",
                "true,true", "#", "/* yes */", "true /* yes", "data[0] == 1",
                "root[$room]() == false",
                "root['exi' + 'sts']() == false", "undefined == null", "this == null", "True", "{}",
            ]),
        RuleSection(
            source: "service: methods by a literal name",
            holds: ["root['exists']()", "data['child']('name').val() == 'Lobby'"],
            invalid: ["root['none']() == true", "root['exists']"]),
    ]
}
