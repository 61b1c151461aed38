/// Numbers as Firestore orders them and tells them apart.
extension Double {
    /// The bits that decide equality: all NaNs are one, 0.0 and -0.0 are two.
    package var firestoreBits: UInt64 {
        isNaN ? 0x7ff8_0000_0000_0000 : bitPattern
    }

    /// Firestore's equality of doubles.
    package func isFirestoreEqual(to other: Double) -> Bool {
        firestoreBits == other.firestoreBits
    }

    /// Firestore's order of doubles: NaN first and equal to NaN, -0.0 equal to 0.0.
    package func firestoreOrder(to other: Double) -> Int {
        if self < other { return -1 }
        if self > other { return 1 }
        if self == other { return 0 }
        return (isNaN ? 0 : 1) - (other.isNaN ? 0 : 1)
    }
}

extension Int64 {
    /// The order of an integer and a double, by exact number: nothing is rounded.
    package func firestoreOrder(to number: Double) -> Int {
        if number.isNaN { return 1 }
        if number >= 0x1p63 { return -1 }
        if number < -0x1p63 { return 1 }
        let whole = Int64(number)
        if self != whole { return self < whole ? -1 : 1 }
        let fraction = number - Double(whole)
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }
}
