import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

/// The same numbers for the same seed.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("JSON of random texts")
struct JSONDifferentialTests {
    @Test("a valid text in any notation is read as Foundation reads it")
    func againstFoundation() throws {
        var random = SplitMix(seed: 11)
        for _ in 0..<300 {
            let value = Self.value(depth: 3, &random)
            let text = Self.notation(of: value, &random)
            let isRead = try JSONValue(parsing: Array(text.utf8)) == value
            #expect(isRead, "\(text)")
            let foundation = try JSONSerialization.jsonObject(
                with: Data(text.utf8), options: .fragmentsAllowed)
            let isSame = Self.isSame(value, foundation)
            #expect(isSame, "\(text)")
        }
    }

    @Test("characters of all planes are read, escaped or not, here and by Foundation")
    func planes() throws {
        var random = SeededRandom()
        for _ in 0..<1_000 {
            let (name, text) = (random.textOfAllPlanes(), random.textOfAllPlanes())
            let json = "{\(random.json(name)):[\(random.json(text))]}"
            let expected = JSONValue.object([JSONMember(name, .array([.string(text)]))])
            #expect(try JSONValue(parsing: Array(json.utf8)) == expected, "\(random)")
            let foundation = try JSONSerialization.jsonObject(with: Data(json.utf8))
            let isSame = Self.isSame(expected, foundation)
            #expect(isSame, "\(random)")
            let decoded = try JSONDecoder().decode([String: [String]].self, from: Data(json.utf8))
            #expect(decoded.first?.key.utf8.elementsEqual(name.utf8) == true, "\(random)")
            #expect(decoded.first?.value[0].utf8.elementsEqual(text.utf8) == true, "\(random)")
            let encoded = try JSONEncoder().encode(decoded)
            #expect(try JSONValue(parsing: Array(encoded)) == expected, "\(random)")
        }
    }

    @Test("written values are read back unchanged, here and by Foundation")
    func roundTrips() throws {
        var random = SplitMix(seed: 12)
        for _ in 0..<300 {
            let value = Self.value(depth: 3, &random)
            var bytes: [UInt8] = []
            JSONWriter.append(value, to: &bytes)
            let isRead = try JSONValue(parsing: bytes) == value
            #expect(isRead, "\(String(decoding: bytes, as: UTF8.self))")
            let foundation = try JSONSerialization.jsonObject(
                with: Data(bytes), options: .fragmentsAllowed)
            let isSame = Self.isSame(value, foundation)
            #expect(isSame, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test("numbers in any notation are the nearest doubles")
    func nearestDoubles() throws {
        var random = SplitMix(seed: 13)
        var wrong: [String] = []
        for _ in 0..<10_000 {
            let digits = String(random.next() >> (random.next() % 64))
            let fraction = random.next() % 2 == 0 ? "" : ".\(random.next() % 1_000_000)"
            let exponent = Int.random(in: -340...310, using: &random)
            let wide = "\(digits)\(fraction)e\(exponent)"
            for text in [wide, "\(digits)\(fraction)e\(exponent / 15)", "-\(digits).0\(digits)"] {
                guard let nearest = Double(text), nearest.isFinite else { continue }
                let value = try JSONValue(parsing: Array(text.utf8))
                if value != .double(nearest) { wrong.append(text) }
            }
        }
        #expect(wrong == [])
    }

    @Test("a changed text is refused within its bounds or is valid for Foundation, too")
    func changedTexts() {
        var random = SplitMix(seed: 14)
        let bytes =
            Array(#"[]{}",:\/bfnrtu0123456789-+.eE truefalsn"#.utf8) + [0, 0x1F, 0x80, 0xED]
        for _ in 0..<4000 {
            var text = Array(Self.notation(of: Self.value(depth: 2, &random), &random).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) where !text.isEmpty {
                let position = Int.random(in: 0..<text.count, using: &random)
                let byte = bytes.randomElement(using: &random) ?? 0
                switch random.next() % 4 {
                case 0: text[position] = byte
                case 1: text.insert(byte, at: position)
                case 2: text.remove(at: position)
                default: text.removeSubrange(position...)
                }
            }
            do throws(JSONError) {
                let value = try JSONValue(parsing: text, duplicateNames: .kept)
                var written: [UInt8] = []
                JSONWriter.append(value, to: &written)
                let isSame = try JSONValue(parsing: written, duplicateNames: .kept) == value
                let foundation = try? JSONSerialization.jsonObject(
                    with: Data(text), options: .fragmentsAllowed)
                #expect(isSame && foundation != nil, "\(String(decoding: text, as: UTF8.self))")
            } catch {
                #expect((0...text.count).contains(error.offset) && !error.reason.isEmpty)
            }
        }
    }

    @Test("random bytes never end the process")
    func randomBytes() {
        var random = SplitMix(seed: 15)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...40, using: &random)
            let text = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            _ = try? JSONValue(parsing: text)
        }
    }

    // MARK: Random values

    private static func value(depth: Int, _ random: inout SplitMix) -> JSONValue {
        switch random.next() % (depth > 0 ? 9 : 6) {
        case 0: return .null
        case 1: return .boolean(random.next() % 2 == 0)
        case 2: return .integer(Int64(bitPattern: random.next()) >> (random.next() % 64))
        case 3:
            let double = Double(bitPattern: random.next())
            return .double(double.isFinite ? double : 0.5)
        case 4: return .double(Double(random.next() % 1_000_000) / 1000)
        case 5: return .string(string(&random))
        case 6:
            return .array(
                (0..<random.next() % 6).map { _ in value(depth: depth - 1, &random) })
        default:
            return .object(
                (0..<random.next() % 14).map { position in
                    JSONMember("\(string(&random))\(position)", value(depth: depth - 1, &random))
                })
        }
    }

    private static func string(_ random: inout SplitMix) -> String {
        let characters = Array("abcdefghijk \"\\/\n\u{0}\u{1f}é中😀\u{2028}\u{FFFD}".unicodeScalars)
        var text = String.UnicodeScalarView()
        for _ in 0..<random.next() % 24 {
            text.append(characters.randomElement(using: &random) ?? "x")
        }
        return String(text)
    }

    /// A text of a value, with random whitespace, escapes and spellings of numbers.
    private static func notation(of value: JSONValue, _ random: inout SplitMix) -> String {
        let text: String
        switch value {
        case .null: text = "null"
        case .boolean(let flag): text = "\(flag)"
        case .integer(let integer): text = "\(integer)"
        case .double(let double):
            text = random.next() % 2 == 0 ? "\(double)" : "\(double)".uppercased()
        case .string(let string): text = notation(of: string, &random)
        case .array(let elements):
            let parts = elements.map { notation(of: $0, &random) }
            text = "[\(blank(&random))\(parts.joined(separator: ","))]"
        case .object(let members):
            let parts = members.map {
                "\(blank(&random))\(notation(of: $0.name, &random))\(blank(&random)):"
                    + notation(of: $0.value, &random)
            }
            text = "{\(blank(&random))\(parts.joined(separator: ","))}"
        }
        return blank(&random) + text + blank(&random)
    }

    private static func notation(of string: String, _ random: inout SplitMix) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            if scalar.value < 0x20 || scalar == "\"" || scalar == "\\" || random.next() % 8 == 0 {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16, uppercase: random.next() % 2 == 0)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    private static func blank(_ random: inout SplitMix) -> String {
        ["", "", "", " ", "\n", "\t\r\n "].randomElement(using: &random) ?? ""
    }

    /// Whether Foundation has read the same.
    private static func isSame(_ value: JSONValue, _ object: Any) -> Bool {
        switch value {
        case .null: object is NSNull
        case .boolean(let flag): (object as? Bool) == flag
        case .integer(let integer): (object as? NSNumber)?.int64Value == integer
        // Foundation reads some numbers through decimal ones, which miss the nearest double.
        case .double(let double):
            (object as? NSNumber).map { abs($0.doubleValue - double) <= abs(double) * 1e-10 }
                ?? false
        case .string(let string): (object as? String).map { string.hasSameUTF8(as: $0) } ?? false
        case .array(let elements):
            (object as? [Any]).map {
                $0.count == elements.count && zip(elements, $0).allSatisfy(isSame)
            } ?? false
        case .object(let members):
            (object as? [String: Any]).map { found in
                found.count == members.count
                    && members.allSatisfy { member in
                        found[member.name].map { isSame(member.value, $0) } ?? false
                    }
            } ?? false
        }
    }
}
