import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport

/// Random expressions whose static types are right, so that they compile.
extension SeededRandom {
    private mutating func signs(_ signs: String...) -> String { pick(signs) }

    mutating func condition(_ depth: Int, _ level: Int) -> NaiveExpression {
        guard depth > 0 else { return .literal(.boolean(oneIn(2))) }
        switch below(10) {
        case 0: return .prefix("!", condition(depth - 1, level))
        case 1: return .infix(condition(depth - 1, level), "&&", condition(depth - 1, level))
        case 2: return .infix(condition(depth - 1, level), "||", condition(depth - 1, level))
        case 3, 4:
            return .infix(
                value(depth - 1, level), signs("==", "!=", "===", "!=="), value(depth - 1, level))
        case 5:
            let sign = signs("<", "<=", ">", ">=")
            switch below(3) {
            case 0: return .infix(number(depth - 1, level), sign, open(depth - 1, level))
            case 1: return .infix(text(depth - 1, level), sign, text(depth - 1, level))
            default: return .infix(open(depth - 1, level), sign, open(depth - 1, level))
            }
        case 6:
            let base = oneIn(2) ? text(depth - 1, level) : open(depth - 1, level)
            let name = signs("contains", "beginsWith", "endsWith")
            return .call(base, name, [openText(depth - 1, level)])
        case 7:
            return .choice(
                condition(depth - 1, level), condition(depth - 1, level),
                condition(depth - 1, level))
        case 8:
            let place = snapshot(depth - 1, level)
            if oneIn(3) { return .call(place, "hasChild", [openText(depth - 1, level)]) }
            if oneIn(2) { return .call(place, "hasChildren", []) }
            let paths = (0...below(2)).map { _ in openText(depth - 1, level) }
            return .call(place, "hasChildren", [.list(paths)])
        default:
            let test = signs("exists", "isNumber", "isString", "isBoolean")
            return .call(snapshot(depth - 1, level), test, [])
        }
    }

    private mutating func value(_ depth: Int, _ level: Int) -> NaiveExpression {
        switch below(6) {
        case 0: .literal(.null)
        case 1: condition(depth, level)
        case 2: number(depth, level)
        case 3: text(depth, level)
        default: open(depth, level)
        }
    }

    private mutating func number(_ depth: Int, _ level: Int) -> NaiveExpression {
        guard depth > 0 else {
            return oneIn(4) ? .name("now") : .literal(.number(Double(below(40)) / 2))
        }
        switch below(5) {
        case 0: return .prefix("-", oneIn(2) ? number(depth - 1, level) : open(depth - 1, level))
        case 1: return .infix(number(depth - 1, level), "+", number(depth - 1, level))
        case 2: return .member(text(depth - 1, level), "length")
        default:
            let right = oneIn(2) ? number(depth - 1, level) : open(depth - 1, level)
            return .infix(number(depth - 1, level), signs("-", "*", "/", "%"), right)
        }
    }

    private mutating func text(_ depth: Int, _ level: Int) -> NaiveExpression {
        guard depth > 0 else {
            if level > 0, oneIn(3) { return .name("$v\(below(level))") }
            return .literal(.string(pathText()))
        }
        switch below(4) {
        case 0: return .infix(text(depth - 1, level), "+", open(depth - 1, level))
        case 1: return .infix(number(depth - 1, level), "+", text(depth - 1, level))
        case 2: return .call(text(depth - 1, level), signs("toLowerCase", "toUpperCase"), [])
        default:
            return .call(
                text(depth - 1, level), "replace",
                [openText(depth - 1, level), openText(depth - 1, level)])
        }
    }

    private mutating func openText(_ depth: Int, _ level: Int) -> NaiveExpression {
        oneIn(3) ? open(depth, level) : text(oneIn(2) ? 0 : depth, level)
    }

    /// An expression whose type is not known when it is compiled.
    private mutating func open(_ depth: Int, _ level: Int) -> NaiveExpression {
        guard depth > 0 else { return .call(.name(oneIn(2) ? "data" : "newData"), "val", []) }
        switch below(7) {
        case 0: return .call(snapshot(depth - 1, level), "getPriority", [])
        case 1, 2: return .call(snapshot(depth - 1, level), "val", [])
        case 3:
            return .choice(
                condition(depth - 1, level), text(depth - 1, level), number(depth - 1, level))
        case 4: return .element(authentication(depth - 1), text(depth - 1, level))
        case 5: return .infix(open(depth - 1, level), "+", open(depth - 1, level))
        default: return authentication(depth)
        }
    }

    private mutating func authentication(_ depth: Int) -> NaiveExpression {
        depth == 0 || oneIn(4)
            ? .name("auth")
            : .member(
                authentication(depth - 1), signs("uid", "token", "admin", "length", "level", "none")
            )
    }

    private mutating func snapshot(_ depth: Int, _ level: Int) -> NaiveExpression {
        guard depth > 0 else { return .name(signs("root", "data", "newData")) }
        switch below(6) {
        case 0: return .call(snapshot(depth - 1, level), "parent", [])
        case 1:
            return .choice(
                condition(depth - 1, level), snapshot(depth - 1, level), snapshot(depth - 1, level))
        case 2: return .name(signs("root", "data", "newData"))
        default: return .call(snapshot(depth - 1, level), "child", [openText(depth - 1, level)])
        }
    }

    /// A key, or a path of keys.
    private mutating func pathText() -> String {
        oneIn(4) ? path().text : oneIn(12) ? "/" : key().text
    }
}
