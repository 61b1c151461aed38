/// Finds where a JSON value ends by counting brackets outside of strings, without reading it.
///
/// Fed with pieces of a text; keeps its state between them.
struct ValueScanner {
    private var depth = 0
    private var state = State.before

    private enum State {
        case before
        case between
        case string
        case escape
        case word
    }

    /// Whether the value is a number or a word, which the end of the text ends, too.
    var isWord: Bool { state == .word }

    /// Scans on: the count of bytes up to the value's end, nil when it is not in this piece.
    mutating func scan(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        var position = 0
        while position < text.count {
            let byte = text[position]
            switch state {
            case .string:
                if byte == UInt8(ascii: "\"") {
                    state = .between
                    if depth == 0 { return position + 1 }
                } else if byte == UInt8(ascii: "\\") {
                    state = .escape
                }
            case .escape:
                state = .string
            case .word:
                switch byte {
                case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"),
                    0x20, 0x09, 0x0A, 0x0D:
                    return position
                default: break
                }
            case .before, .between:
                switch byte {
                case UInt8(ascii: "\""): state = .string
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    state = .between
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    // Where a value should be: there is none.
                    if depth == 0 { return position }
                    depth -= 1
                    if depth == 0 { return position + 1 }
                case UInt8(ascii: ",") where depth == 0:
                    return position
                default:
                    if depth == 0 { state = .word }
                }
            }
            position += 1
        }
        return nil
    }
}
