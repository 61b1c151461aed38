extension SeededRandom {
    /// Up to six characters of any planes, and text that looks like their escapes.
    public mutating func textOfAllPlanes() -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<below(7) {
            let value = UInt32(below(17) << 16 | below(0x1_0000))
            if let scalar = Unicode.Scalar(value) { text.append(scalar) }
            if oneIn(8) { text.append(contentsOf: #"\ud842\udfb7"#.unicodeScalars) }
        }
        return String(text)
    }

    /// Text of all planes that is valid as a name of any kind.
    public mutating func nameOfAllPlanes() -> String {
        var name = "x".unicodeScalars
        name.append(contentsOf: textOfAllPlanes().unicodeScalars.filter { $0.value > 0x9f })
        return String(name)
    }

    /// A string of JSON, in which any character may be escaped.
    public mutating func json(_ text: String) -> String {
        var json = "\""
        for scalar in text.unicodeScalars {
            if scalar.value >= 0x20, scalar != "\"", scalar != "\\", oneIn(2) {
                json.unicodeScalars.append(scalar)
            } else if scalar == "\\", oneIn(2) {
                json += #"\\"#
            } else {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16, uppercase: oneIn(2))
                    json += #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return json + "\""
    }
}
