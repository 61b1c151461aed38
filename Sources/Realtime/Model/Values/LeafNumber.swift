/// A number of the tree: a finite double, or an integer of 64 bits.
///
/// A double with an integral value is held as the integer, so equal numbers are the same value
/// however they were written; negative zero stays a double, which hashes differently from 0.
package struct LeafNumber: Hashable, Sendable {
    private enum Storage: Hashable {
        case integer(Int64)
        case double(bits: UInt64)
    }

    private let storage: Storage

    /// An integer.
    package init(_ integer: Int64) {
        storage = .integer(integer)
    }

    /// A double; nil unless it is finite.
    package init?(_ double: Double) {
        guard double.isFinite else { return nil }
        if let integer = Int64(exactly: double), integer != 0 || double.sign == .plus {
            storage = .integer(integer)
        } else {
            storage = .double(bits: double.bitPattern)
        }
    }

    /// The number whose ``doubleBits`` these are.
    init(doubleBits bits: UInt64) {
        storage = .double(bits: bits)
    }

    /// The bits of a double that is held as one.
    var doubleBits: UInt64? {
        guard case .double(let bits) = storage else { return nil }
        return bits
    }

    /// The number as an integer, if it is held as one.
    package var integer: Int64? {
        guard case .integer(let integer) = storage else { return nil }
        return integer
    }

    /// The nearest double.
    package var double: Double {
        switch storage {
        case .integer(let integer): Double(integer)
        case .double(let bits): Double(bitPattern: bits)
        }
    }

    /// The numeric order: below, equal to or above 0.
    ///
    /// Integers beyond 2^53 are compared exactly.
    package func order(to other: LeafNumber) -> Int {
        if let left = integer, let right = other.integer {
            return left == right ? 0 : left < right ? -1 : 1
        }
        let (left, right) = (double, other.double)
        if left != right { return left < right ? -1 : 1 }
        // Zeros, or an integer that was rounded up to the first double beyond all integers.
        if left == 0x1p63, integer != other.integer { return integer == nil ? 1 : -1 }
        return 0
    }

    /// The sum: an integer of two integers if it fits, otherwise a double; the largest finite
    /// double of that sign when it overflows.
    package func adding(_ other: LeafNumber) -> LeafNumber {
        if let left = integer, let right = other.integer {
            let (sum, overflows) = left.addingReportingOverflow(right)
            if !overflows { return LeafNumber(sum) }
        }
        let sum = double + other.double
        let largest = Double.greatestFiniteMagnitude
        return LeafNumber(Swift.min(Swift.max(sum, -largest), largest)) ?? LeafNumber(0 as Int64)
    }
}
