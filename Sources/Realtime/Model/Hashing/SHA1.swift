import Foundation

/// SHA-1 (FIPS 180-4), by which the Realtime Database compares nodes: for equality, not for
/// security.
///
/// Bytes are fed piece by piece; a copy continues from the same state. Nothing is allocated.
struct SHA1: Sendable, Equatable {
    private var words = Digest.initial
    private var block = SIMD16<UInt32>()
    private var byteCount: UInt64 = 0

    /// The result.
    struct Digest: Hashable, Sendable {
        var a: UInt32, b: UInt32, c: UInt32, d: UInt32, e: UInt32

        fileprivate static let initial = Digest(
            a: 0x6745_2301, b: 0xefcd_ab89, c: 0x98ba_dcfe, d: 0x1032_5476, e: 0xc3d2_e1f0)
    }

    /// Feeds the UTF-8 of some text.
    mutating func update(_ text: String) {
        text.withUTF8Buffer { update(UnsafeRawBufferPointer($0)) }
    }

    /// Feeds bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        var offset = 0
        while offset < bytes.count {
            let filled = Int(byteCount % 64)
            let size = min(64 - filled, bytes.count - offset)
            if size == 64 {
                mix(base + offset)
            } else {
                withUnsafeMutableBytes(of: &block) { block in
                    if let target = block.baseAddress {
                        memcpy(target + filled, base + offset, size)
                    }
                }
                if filled + size == 64 { mixBlock() }
            }
            byteCount &+= UInt64(size)
            offset += size
        }
    }

    /// The digest of everything that was fed.
    var digest: Digest {
        var padded = self
        let zeros: UInt64 = 0
        var end: UInt8 = 0x80
        withUnsafeBytes(of: &end) { padded.update($0) }
        withUnsafeBytes(of: zeros) { zeros in
            let used = Int(padded.byteCount % 64)
            var missing = (used <= 56 ? 56 : 120) - used
            while missing > 0 {
                padded.update(UnsafeRawBufferPointer(rebasing: zeros[..<min(8, missing)]))
                missing -= min(8, missing)
            }
        }
        withUnsafeBytes(of: (byteCount &* 8).bigEndian) { padded.update($0) }
        return padded.words
    }

    private mutating func mixBlock() {
        let full = block
        withUnsafeBytes(of: full) { bytes in
            if let base = bytes.baseAddress { mix(base) }
        }
    }

    /// Mixes 64 bytes into the state.
    private mutating func mix(_ bytes: UnsafeRawPointer) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { schedule in
            for index in 0..<16 {
                let word = bytes.loadUnaligned(fromByteOffset: index &* 4, as: UInt32.self)
                schedule[index] = UInt32(bigEndian: word)
            }
            for index in 16..<80 {
                let word =
                    schedule[index &- 3] ^ schedule[index &- 8] ^ schedule[index &- 14]
                    ^ schedule[index &- 16]
                schedule[index] = word << 1 | word >> 31
            }
            var state = words
            for index in 0..<20 {
                state.step((state.b & state.c) | (~state.b & state.d), 0x5a82_7999, schedule[index])
            }
            for index in 20..<40 {
                state.step(state.b ^ state.c ^ state.d, 0x6ed9_eba1, schedule[index])
            }
            for index in 40..<60 {
                let majority = (state.b & state.c) | (state.d & (state.b | state.c))
                state.step(majority, 0x8f1b_bcdc, schedule[index])
            }
            for index in 60..<80 {
                state.step(state.b ^ state.c ^ state.d, 0xca62_c1d6, schedule[index])
            }
            words.add(state)
        }
    }
}

extension SHA1.Digest {
    @inline(__always)
    fileprivate mutating func step(_ mixed: UInt32, _ constant: UInt32, _ word: UInt32) {
        let sum = (a << 5 | a >> 27) &+ mixed &+ e &+ constant &+ word
        (e, d, c, b, a) = (d, c, b << 30 | b >> 2, a, sum)
    }

    fileprivate mutating func add(_ other: SHA1.Digest) {
        a &+= other.a
        b &+= other.b
        c &+= other.c
        d &+= other.d
        e &+= other.e
    }

    /// The digest in base 64: 28 characters, padding included.
    var base64: String {
        withBase64 { String(decoding: $0, as: UTF8.self) }
    }

    /// Calls a closure with the digest in base 64.
    func withBase64<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeTemporaryAllocation(byteCount: 52, alignment: 8) { memory in
            let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[28...])
            for (index, word) in [a, b, c, d, e, 0].enumerated() {
                bytes.storeBytes(of: word.bigEndian, toByteOffset: index * 4, as: UInt32.self)
            }
            let text = UnsafeMutableRawBufferPointer(rebasing: memory[..<28])
            for group in 0..<7 {
                let (first, place) = (group * 3, group * 4)
                let bits =
                    Int(bytes[first]) << 16 | Int(bytes[first + 1]) << 8 | Int(bytes[first + 2])
                for digit in 0..<4 {
                    text[place + digit] = Self.alphabet[bits >> (18 - 6 * digit) & 63]
                }
            }
            text[27] = UInt8(ascii: "=")
            return body(UnsafeRawBufferPointer(text))
        }
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
